'use strict';

const { EMPTY_BUFFER, FastBuffer, IN_FLAG_OWNED, RECORD_WORDS } = require('./constants');
const { setProtocolErrors } = require('./errors');
const { limit } = require('./limits');

/** Records of one call of the engine. */
const MOST_RECORDS = 256;

/** Arrays of records by depth: a handler may make the stream of another connection deliver at once. */
const arrays = /** @type {Uint32Array[]} */ ([]);
let depth = 0;

/** @type {any} */
let native = null;

/**
 * The protocol state of one connection that does not belong to the reactor.
 *
 * @param {boolean} isServer
 * @param {any} options maxPayload, maxFragments, skipUTF8Validation
 * @returns {any} The native engine
 */
function createEngine(isServer, options) {
  if (native === null) {
    native = require('./native/binding.js');
    setProtocolErrors(native.protocolErrors());
  }
  return new native.StreamEngine({
    isServer,
    maxPayload: limit(options.maxPayload),
    maxFragments: limit(options.maxFragments),
    skipUtf8Validation: !!options.skipUTF8Validation,
  });
}

/**
 * @typedef {object} Sink Where records go, in order
 * @property {(tag: number, data: Buffer) => void} take
 * @property {(tag: number, data: Buffer) => void} takeLater Gets those that are left when `take` has thrown
 * @property {(error: Error) => void} broke The engine itself failed; the connection must end
 */

/**
 * Parses a chunk.
 *
 * @param {any} engine
 * @param {Buffer} chunk It is unmasked in place, and payloads are views of it
 * @param {Sink} sink
 */
function parse(engine, chunk, sink) {
  if (depth === arrays.length) arrays.push(new Uint32Array(MOST_RECORDS * RECORD_WORDS));
  const progress = { records: arrays[depth++], next: 0, count: 0 };
  let isDone = false;
  try {
    parseOn(engine, chunk, sink, progress, (tag, data) => sink.take(tag, data));
    isDone = true;
  } finally {
    // An engine that has given all records of a chunk would read it as a new one.
    const isMore = progress.next < progress.count || progress.count === MOST_RECORDS;
    if (!isDone && isMore) parseOn(engine, chunk, sink, progress, (tag, data) => sink.takeLater(tag, data));
    depth--;
  }
}

/**
 * @param {any} engine
 * @param {Buffer} chunk
 * @param {Sink} sink
 * @param {{ records: Uint32Array, next: number, count: number }} progress Of `count` records the first `next` are taken
 * @param {(tag: number, data: Buffer) => void} take
 */
function parseOn(engine, chunk, sink, progress, take) {
  const { records } = progress;
  do {
    if (progress.next === progress.count) {
      progress.next = 0;
      try {
        progress.count = engine.input(chunk, records);
      } catch (error) {
        progress.count = 0;
        sink.broke(/** @type {Error} */ (error));
      }
    }
    while (progress.next < progress.count) {
      const word = RECORD_WORDS * progress.next++;
      const tag = records[word + 1];
      take(tag, payload(engine, chunk, tag, records[word + 2], records[word + 3]));
    }
  } while (progress.count === MOST_RECORDS);
}

/**
 * @param {any} engine
 * @param {Buffer} chunk
 * @param {number} tag
 * @param {number} offset
 * @param {number} length
 * @returns {Buffer}
 */
function payload(engine, chunk, tag, offset, length) {
  if (length === 0) return EMPTY_BUFFER;
  if ((tag & (IN_FLAG_OWNED << 8)) === 0) return new FastBuffer(chunk.buffer, chunk.byteOffset + offset, length);
  const data = Buffer.allocUnsafeSlow(length);
  engine.takeLarge(offset, data);
  return data;
}

module.exports = { createEngine, parse };

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
/** What the engines share for compression. @type {any} */
let pool = null;

/**
 * The protocol state of one connection that does not belong to the reactor.
 *
 * @param {boolean} isServer
 * @param {any} options maxPayload, maxFragments, skipUTF8Validation
 * @param {any} deflate What `negotiatedDeflate` returned
 * @returns {any} The native engine
 */
function createEngine(isServer, options, deflate) {
  if (native === null) {
    native = require('./native/binding.js');
    setProtocolErrors(native.protocolErrors());
    pool = new native.DeflatePool();
  }
  const settings = {
    deflate,
    isServer,
    maxPayload: limit(options.maxPayload),
    maxFragments: limit(options.maxFragments),
    skipUtf8Validation: !!options.skipUTF8Validation,
  };
  return new native.StreamEngine(settings, pool);
}

/** What was compressed in this turn will hardly be sent again. */
function endTurn() {
  pool.endTurn();
}

/**
 * @typedef {object} Sink Where records go, in order
 * @property {(tag: number, data: Buffer) => void} take
 * @property {(tag: number, data: Buffer) => void} takeLater Gets those that are left when `take` has thrown
 * @property {(error: Error) => void} broke The engine itself failed; the connection must end
 * @property {(chunk: Buffer) => void} pause Others first: the chunk is to be parsed on, in another turn
 */

/**
 * Parses a chunk.
 *
 * @param {any} engine
 * @param {Buffer} chunk It is unmasked in place, and payloads are views of it. One that `sink.pause` was given is parsed
 *   from where that was
 * @param {Sink} sink
 */
function parse(engine, chunk, sink) {
  if (depth === arrays.length) arrays.push(new Uint32Array(MOST_RECORDS * RECORD_WORDS));
  const progress = { records: arrays[depth++], next: 0, count: 0, isAtEnd: false, isPaused: false };
  let isDone = false;
  try {
    parseOn(engine, chunk, sink, progress, (tag, data) => sink.take(tag, data));
    isDone = true;
  } finally {
    // An engine that has given all records of a chunk would read it as a new one.
    const isMore = progress.next < progress.count || progress.count === MOST_RECORDS;
    if (!isDone && isMore) parseOn(engine, chunk, sink, progress, (tag, data) => sink.takeLater(tag, data));
    else if (!isDone && progress.isPaused) sink.pause(chunk);
    depth--;
  }
}

/**
 * @typedef {object} Progress
 * @property {Uint32Array} records
 * @property {number} count How many of them there are
 * @property {number} next The first that is not taken
 * @property {boolean} isAtEnd Whether the engine wants no further call
 * @property {boolean} isPaused Whether that is because others are first
 */

/**
 * @param {any} engine
 * @param {Buffer} chunk
 * @param {Sink} sink
 * @param {Progress} progress
 * @param {(tag: number, data: Buffer) => void} take
 */
function parseOn(engine, chunk, sink, progress, take) {
  const { records } = progress;
  while (progress.next < progress.count || !progress.isAtEnd) {
    if (progress.next === progress.count) callEngine(engine, chunk, sink, progress);
    while (progress.next < progress.count) {
      const word = RECORD_WORDS * progress.next++;
      const tag = records[word + 1];
      take(tag, payload(engine, chunk, tag, records[word + 2], records[word + 3]));
    }
  }
  if (progress.isPaused) sink.pause(chunk);
}

/**
 * @param {any} engine
 * @param {Buffer} chunk
 * @param {Sink} sink
 * @param {Progress} progress
 */
function callEngine(engine, chunk, sink, progress) {
  progress.next = progress.count = 0;
  progress.isAtEnd = true;
  try {
    const count = engine.input(chunk, progress.records);
    progress.isPaused = count < 0;
    progress.count = progress.isPaused ? -count - 1 : count;
    progress.isAtEnd = count !== MOST_RECORDS;
  } catch (error) {
    sink.broke(/** @type {Error} */ (error));
  }
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

module.exports = { createEngine, endTurn, parse };

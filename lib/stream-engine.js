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
 * Parses a chunk and gives its records to `take`, in order.
 *
 * @param {any} engine
 * @param {Buffer} chunk It is unmasked in place, and payloads are views of it
 * @param {(tag: number, data: Buffer) => void} take
 * @param {(tag: number, data: Buffer) => void} takeRest Gets what follows when `take` throws
 */
function parse(engine, chunk, take, takeRest) {
  if (depth === arrays.length) arrays.push(new Uint32Array(MOST_RECORDS * RECORD_WORDS));
  const records = arrays[depth++];
  let next = 0;
  let count = 0;
  let taker = take;
  const go = () => {
    do {
      if (next === count) {
        count = engine.input(chunk, records);
        next = 0;
      }
      while (next < count) {
        const word = RECORD_WORDS * next++;
        const tag = records[word + 1];
        taker(tag, payload(engine, chunk, tag, records[word + 2], records[word + 3]));
      }
    } while (count === MOST_RECORDS);
  };
  let isDone = false;
  try {
    go();
    isDone = true;
  } finally {
    if (!isDone) {
      taker = takeRest;
      go();
    }
    depth--;
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

module.exports = { createEngine, parse };

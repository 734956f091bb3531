'use strict';

// What was sent last, as far as it is in the arena being filled or goes with it: a send of the same
// to the next connection refers to it. Nothing is kept beyond a flush. Without it a plain loop over
// `clients` takes 1.19 of the CPU time with 16 KiB to each of 100 (1.6 of the JavaScript thread's),
// and 1.26 with 1 KiB of text to each of 1,000.

const { FastBuffer } = require('../constants');
const { isViewOf, lengthOf } = require('../views');
const { KIND_MASK, OUT_BINARY, OUT_FLAG_FIN, OUT_FLAG_WANT_SENT } = require('./layout');

/**
 * From here on it costs less to compare bytes that were sent before with what they were than to copy them again. Of text only a
 * loop over its characters costs less than to refer to it.
 */
const SAME_BYTES = 4096;

/** Looked up once: V8 has no short way to it through Buffer. */
const { compare } = Buffer;

/** The last bytes. */
const bytes = {
  /** @type {Uint8Array | null} */
  data: null,
  /** The payload that they have become; null before it has been compared with them. @type {Uint8Array | null} */
  payload: null,
  /** Where it begins. */
  start: 0,
  length: 0,
};

/** The last text. */
const text = {
  /** Empty when there is none. */
  data: '',
  /** The connection that was sent it: what one connection is sent in a row is hardly ever the same. */
  slot: -1,
  /** Where its payload begins. */
  start: 0,
  /** Bytes of the payload. */
  length: 0,
};

/** The last payload that went to the reactor by itself. */
const large = {
  /** As it was given. @type {Uint8Array | string | null} */
  data: null,
  /** Bytes of the payload. */
  length: 0,
  tag: 0,
  /** Word of the tag in its record. */
  word: 0,
};

/** The arena is the reactor's. */
function forget() {
  bytes.data = bytes.payload = large.data = null;
  text.data = '';
  text.slot = -1;
}

/**
 * @param {Uint8Array} data
 * @param {number} start Where its payload begins
 * @param {number} length Bytes of the payload
 */
function keepBytes(data, start, length) {
  bytes.data = data;
  bytes.payload = null;
  bytes.start = start;
  bytes.length = length;
}

/**
 * @param {Uint8Array} data
 * @param {number} length Its length
 * @param {Buffer} arena
 * @returns {boolean} Whether it was sent last, and is as it was
 */
function isLastBytes(data, length, arena) {
  if (data !== bytes.data || length !== bytes.length) return false;
  const payload = (bytes.payload ??= new FastBuffer(arena.buffer, bytes.start, length));
  return compare(/** @type {Uint8Array} */ (payload), data) === 0;
}

/**
 * @param {string} data
 * @param {number} slot Of the connection in the table
 * @param {number} start
 * @param {number} length Bytes of the payload
 */
function keepText(data, slot, start, length) {
  text.data = data;
  text.slot = slot;
  text.start = start;
  text.length = length;
}

/**
 * @param {Uint8Array | string} data
 * @param {number} length Bytes of the payload
 * @param {number} tag kind | flags | aux of the record
 * @param {number} word
 */
function keepLarge(data, length, tag, word) {
  // Others only share whole messages.
  large.data = (tag & KIND_MASK) <= OUT_BINARY && (tag & OUT_FLAG_FIN) !== 0 ? data : null;
  large.length = length;
  large.tag = tag;
  large.word = word;
}

/**
 * @param {any} native The reactor, which has the payload
 * @param {number} tag kind | flags | aux of the record
 * @param {Uint8Array | string} data
 * @returns {boolean} Whether it makes the same message as the last, as it was
 */
function isLastLarge(native, tag, data) {
  if (data !== large.data || ((tag ^ large.tag) & ~OUT_FLAG_WANT_SENT) !== 0) return false;
  return typeof data === 'string' || (lengthOf.call(data) === large.length && native.isLastLarge(data));
}

/**
 * What is no Uint8Array is sent by way of one: by the same as before, so that it is known again.
 *
 * @param {ArrayBufferLike} buffer
 * @param {number} offset Where the payload is, relative to the batch
 * @param {number} length Bytes of the payload
 * @returns {Uint8Array | null} What was sent last, if that is these bytes
 */
function lastViewOf(buffer, offset, length) {
  if (length < SAME_BYTES) return null;
  for (const { data } of [bytes, large]) {
    if (data !== null && typeof data !== 'string' && isViewOf(data, buffer, offset, length)) return data;
  }
  return null;
}

module.exports = {
  SAME_BYTES,
  bytes,
  forget,
  isLastBytes,
  isLastLarge,
  keepBytes,
  keepLarge,
  keepText,
  large,
  lastViewOf,
  text,
};

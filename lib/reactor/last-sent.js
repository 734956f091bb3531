'use strict';

// The last payloads sent, as far as they are in the arena being filled or go with it: a
// send of the same payload to the next connection refers to them. None is kept beyond a flush.
// Without this a plain loop over `clients` takes 1.19 times the CPU time with 16 KiB to each of 100
// connections (1.6 times that of the JavaScript thread), and 1.26 times with 1 KiB of text to each
// of 1,000.

const { FastBuffer } = require('../constants');
const { isViewOf, lengthOf } = require('../views');
const { KIND_MASK, OUT_BINARY, OUT_FLAG_FIN, OUT_FLAG_WANT_SENT } = require('./layout');

/** @import { Native } from './table' */

/**
 * From this many bytes on, comparing bytes with those sent before costs less than copying them
 * again. Text is referred to from the length on at which it is no longer copied in a loop.
 */
const SAME_BYTES = 4096;

/** Looked up once: through Buffer V8 takes longer. */
const { compare } = Buffer;

/** The last bytes sent. */
const bytes = {
  /** @type {Uint8Array | null} */
  data: null,
  /** Their copy in the arena; null before the two were compared. @type {Uint8Array | null} */
  payload: null,
  /** Offset of the payload in the arena. */
  start: 0,
  /** Bytes of the payload. */
  length: 0,
};

/** The last text sent. */
const text = {
  /** Empty if there is none. */
  data: '',
  /** Slot of its connection: one connection hardly ever gets the same text twice. */
  slot: -1,
  /** Offset of its payload in the arena. */
  start: 0,
  /** Bytes of the payload. */
  length: 0,
};

/** The last payload that went to the reactor by itself. */
const large = {
  /** The argument of `send()`. @type {Uint8Array | string | null} */
  data: null,
  /** Bytes of the payload. */
  length: 0,
  /** The tag of its record. */
  tag: 0,
  /** Word of that tag in the arena. */
  word: 0,
};

/** Forgets all of them: the reactor has the arena. */
function forget() {
  bytes.data = bytes.payload = large.data = null;
  text.data = '';
  text.slot = -1;
}

/**
 * @param {Uint8Array} data The payload, as it was given
 * @param {number} start Offset of its payload in the arena
 * @param {number} length Bytes of the payload
 */
function keepBytes(data, start, length) {
  bytes.data = data;
  bytes.payload = null;
  bytes.start = start;
  bytes.length = length;
}

/**
 * @param {Uint8Array} data A payload
 * @param {number} length Its length
 * @param {Buffer} arena The arena being filled
 * @returns {boolean} Whether it was sent last, and has not changed
 */
function isLastBytes(data, length, arena) {
  if (data !== bytes.data || length !== bytes.length) return false;
  const payload = (bytes.payload ??= new FastBuffer(arena.buffer, bytes.start, length));
  return compare(/** @type {Uint8Array} */ (payload), data) === 0;
}

/**
 * @param {string} data The payload, as it was given
 * @param {number} slot Slot of the connection in the table
 * @param {number} start Offset of the payload in the arena
 * @param {number} length Bytes of the payload
 */
function keepText(data, slot, start, length) {
  text.data = data;
  text.slot = slot;
  text.start = start;
  text.length = length;
}

/**
 * @param {Uint8Array | string} data The payload, as it was given
 * @param {number} length Bytes of the payload
 * @param {number} tag kind | flags | aux of the record
 * @param {number} word Word of the tag in its record, counted from the beginning of the arena
 */
function keepLarge(data, length, tag, word) {
  // Only whole messages are shared.
  large.data = (tag & KIND_MASK) <= OUT_BINARY && (tag & OUT_FLAG_FIN) !== 0 ? data : null;
  large.length = length;
  large.tag = tag;
  large.word = word;
}

/**
 * @param {Native} native The native reactors, which have the payload
 * @param {number} tag kind | flags | aux of the record
 * @param {Uint8Array | string} data A payload
 * @returns {boolean} Whether it makes the same message as the last one, and has not changed
 */
function isLastLarge(native, tag, data) {
  if (data !== large.data || ((tag ^ large.tag) & ~OUT_FLAG_WANT_SENT) !== 0) return false;
  return typeof data === 'string' || (lengthOf.call(data) === large.length && native.isLastLarge(data));
}

/**
 * Finds the view by which memory was sent last. Data that is no Uint8Array is sent by way of one,
 * and recognized by the same one.
 *
 * @param {ArrayBufferLike} buffer Memory of a payload
 * @param {number} offset Offset of the payload in it
 * @param {number} length Bytes of the payload
 * @returns {Uint8Array | null} The last data sent, if it has these bytes
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

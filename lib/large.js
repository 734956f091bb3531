'use strict';

const { OUT_BINARY, OUT_FLAG_FIN, OUT_FLAG_WANT_SENT } = require('./constants');

const KIND = 0xff;
const FIN = OUT_FLAG_FIN << 8;
const WANT_SENT = OUT_FLAG_WANT_SENT << 8;

/** The payload that went to the reactor by itself last, and is not flushed yet: whom it is sent to next shares it. */
const last = {
  /** As it was given. @type {Uint8Array | string | null} */
  data: null,
  /** Bytes of the payload. */
  length: 0,
  /** Word of the tag in its record. */
  word: 0,
  tag: 0,
};

/**
 * @param {Uint8Array | string} data
 * @param {number} length
 * @param {number} tag
 * @param {number} word
 */
function keepLast(data, length, tag, word) {
  // Others only share whole messages.
  last.data = (tag & KIND) <= OUT_BINARY && (tag & FIN) !== 0 ? data : null;
  last.length = length;
  last.tag = tag;
  last.word = word;
}

/**
 * @param {any} native The reactor, which has the payload
 * @param {number} tag
 * @param {Uint8Array | string} data
 * @returns {boolean} Whether it makes the same message as the last
 */
function isLast(native, tag, data) {
  if (data !== last.data || ((tag ^ last.tag) & ~WANT_SENT) !== 0) return false;
  return typeof data === 'string' || native.isLastLarge(data);
}

module.exports = { isLast, keepLast, last };

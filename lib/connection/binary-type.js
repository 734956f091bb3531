'use strict';

const { CONVERT } = require('../bits');
const { BINARY_TYPES } = require('../constants');

/** @import { WebSocket } from './state' */

/**
 * A subclass may have a `binaryType` of its own: as in ws, what that says when the connection opens
 * counts.
 *
 * @param {WebSocket} ws A WebSocket that opens
 */
function heedBinaryType(ws) {
  const type = ws.binaryType || BINARY_TYPES[0];
  if (type === BINARY_TYPES[0]) return;
  ws._bits |= CONVERT;
  ws._ensureExtra().binaryType = type;
}

/**
 * @param {WebSocket} ws A WebSocket
 * @returns {string} What binary messages are converted to, whatever its class says by now
 */
function binaryTypeOf(ws) {
  return (ws._bits & CONVERT) === 0 ? BINARY_TYPES[0] : ws._ensureExtra().binaryType;
}

/**
 * A binary message in the form that `binaryType` names.
 *
 * @param {string} binaryType One of BINARY_TYPES; as in ws, any other is 'fragments'
 * @param {Buffer} data The payload
 * @param {boolean} [isBorrowed] Whether its memory is taken back; false by default
 * @returns {Buffer | ArrayBufferLike | Buffer[] | Blob} The data of 'message'
 */
function convert(binaryType, data, isBorrowed) {
  switch (binaryType) {
    case 'arraybuffer':
      // Memory of its own: the ArrayBuffer of a view contains other messages too.
      return data.length === data.buffer.byteLength && !isBorrowed
        ? data.buffer
        : data.buffer.slice(data.byteOffset, data.byteOffset + data.length);
    case 'nodebuffer':
      return data;
    case 'blob':
      return new Blob([/** @type {Uint8Array<ArrayBuffer>} */ (data)]);
    default:
      return data.length === 0 ? [] : [data];
  }
}

module.exports = { binaryTypeOf, convert, heedBinaryType };

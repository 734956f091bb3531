'use strict';

const { INDIRECT } = require('../base/bits');
const { BINARY_TYPES } = require('../base/constants');

/** @import { WebSocket } from './state' */

/** @type {(ws: WebSocket) => string} */
function binaryTypeOf(ws) {
  return ws._extra === null ? BINARY_TYPES[0] : ws._extra.binaryType;
}

/** @type {(ws: WebSocket, type: string) => void} */
function setBinaryType(ws, type) {
  if (type === binaryTypeOf(ws)) return;
  ws._bits |= INDIRECT;
  ws._ensureExtra().binaryType = type;
}

/**
 * A subclass may have a `binaryType` of its own: as in ws, what that says when the connection opens
 * counts.
 *
 * @type {(ws: WebSocket) => void}
 */
function heedBinaryType(ws) {
  setBinaryType(ws, ws.binaryType || BINARY_TYPES[0]);
}

/**
 * A binary message in the form that `binaryType` names; as in ws, an unknown name is 'fragments'.
 *
 * @type {(binaryType: string, data: Buffer, isBorrowed?: boolean) => Buffer | ArrayBufferLike | Buffer[] | Blob}
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

module.exports = { binaryTypeOf, convert, heedBinaryType, setBinaryType };

'use strict';

const { INDIRECT } = require('../base/bits');
const { BINARY_TYPES } = require('../base/constants');

/** @import { WebSocket } from './state' */

/** @param {WebSocket} ws */
function binaryTypeOf(ws) {
  return ws._extra === null ? BINARY_TYPES[0] : ws._extra.binaryType;
}

/** @type {(ws: WebSocket, type: string) => void} */
function setBinaryType(ws, type) {
  if (type === binaryTypeOf(ws)) return;
  ws._bits |= INDIRECT;
  ws._ensureExtra().binaryType = type;
}

/** As in ws, the `binaryType` of a subclass counts as it is when the connection opens. @param {WebSocket} ws */
function applyBinaryType(ws) {
  setBinaryType(ws, ws.binaryType || BINARY_TYPES[0]);
}

/**
 * As in ws, an unknown `binaryType` is 'fragments'.
 *
 * @type {(binaryType: string, data: any) => Buffer | ArrayBufferLike | Buffer[] | Blob}
 */
function convert(binaryType, data) {
  switch (binaryType) {
    case 'arraybuffer':
      // Its own memory: a view's ArrayBuffer also contains other messages.
      return data.length === data.buffer.byteLength
        ? data.buffer
        : data.buffer.slice(data.byteOffset, data.byteOffset + data.length);
    case 'nodebuffer':
      return data;
    case 'blob':
      return new Blob([data]);
    default:
      return data.length === 0 ? [] : [data];
  }
}

module.exports = { binaryTypeOf, convert, applyBinaryType, setBinaryType };

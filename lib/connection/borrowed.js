'use strict';

const { BORROWED } = require('../base/bits');
const { borrowedPayload, payload } = require('../reactor/batch');
const { takeBack } = require('../reactor/borrowing');

/** @import { WebSocket } from './state' */

/** @type {(ws: WebSocket, tag: number, offset: number, length: number) => Buffer} */
function payloadOf(ws, tag, offset, length) {
  return (ws._bits & BORROWED) === 0 ? payload(tag, offset, length) : borrowedPayload(tag, offset, length);
}

/**
 * Delivers a message that was held, and takes it back.
 *
 * @type {(deliver: (ws: WebSocket, tag: number, data: Buffer) => void, ws: WebSocket, tag: number, data: Buffer) => void}
 */
function deliverBorrowed(deliver, ws, tag, data) {
  try {
    deliver(ws, tag, data);
  } finally {
    takeBack(data);
  }
}

module.exports = { deliverBorrowed, payloadOf };

'use strict';

const { BORROWED } = require('../bits');
const { borrowedPayload } = require('../reactor/batch');
const { takeBack } = require('../reactor/borrowing');
const { payload } = require('../reactor/dispatch');

/** @import { WebSocket } from './state' */

/**
 * @param {WebSocket} ws The connection of the record
 * @param {number} tag kind | flags | aux of the record
 * @param {number} offset Offset of the payload, in bytes from the start of the batch
 * @param {number} length Bytes of the payload
 * @returns {Buffer} The payload
 */
function payloadOf(ws, tag, offset, length) {
  return (ws._bits & BORROWED) === 0 ? payload(tag, offset, length) : borrowedPayload(tag, offset, length);
}

/**
 * Delivers a message that was held, and takes it back.
 *
 * @param {(ws: WebSocket, tag: number, data: Buffer) => void} deliver Delivers the message
 * @param {WebSocket} ws The connection of the record
 * @param {number} tag kind | flags | aux of the record
 * @param {Buffer} data The payload, in memory of its own
 */
function deliverBorrowed(deliver, ws, tag, data) {
  try {
    deliver(ws, tag, data);
  } finally {
    takeBack(data);
  }
}

module.exports = { deliverBorrowed, payloadOf };

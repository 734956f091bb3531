'use strict';

const { GONE, STREAM } = require('../bits');
const { NO_SLOT } = require('../constants');
const { streamDestroyed } = require('../errors');
const { OUT_FLAG_WANT_SENT, frameBytes } = require('../reactor/layout');
const outbox = require('../reactor/outbox');
const { SAME_BYTES } = require('../reactor/last-sent');
const { streamOf } = require('./state');

/** @import { Connection, SentCallback, WebSocket } from './state' */

/**
 * Queues one frame. The data must have been checked.
 *
 * @param {WebSocket} ws A WebSocket that has a connection
 * @param {number} tag kind | flags << 8 | aux << 16
 * @param {string | Uint8Array} data The payload
 * @param {SentCallback} [callback] Called when the kernel has the frame, or with an error when it
 *   never will
 */
function post(ws, tag, data, callback) {
  if ((ws._bits & STREAM) !== 0) {
    streamOf(ws).post(tag, data, typeof callback === 'function' ? callback : undefined);
    return;
  }
  const length = push(ws, tag, data, callback);
  ws._accepted += frameBytes(length);
  // A long payload may be sent to other connections too. The payload is copied once if all of them
  // leave together.
  if (length < SAME_BYTES) outbox.handOver();
}

/**
 * Puts a record of a connection of the reactor into the outbox for the next flush, and remembers
 * the callback for when its payload has left.
 *
 * @param {Connection} ws A connection of the reactor
 * @param {number} tag kind | flags << 8 | aux << 16
 * @param {string | Uint8Array | number} data The payload, or the number of a prepared message
 * @param {SentCallback} [callback] Called when the kernel has the payload, or with an error when it
 *   never will
 * @returns {number} Bytes of the payload
 */
function push(ws, tag, data, callback) {
  const wantsSent = typeof callback === 'function';
  if (wantsSent) tag |= OUT_FLAG_WANT_SENT;
  const length =
    typeof data === 'string'
      ? outbox.pushText(ws._slot, ws._generation, tag, data)
      : typeof data === 'number'
        ? outbox.pushPrepared(ws._slot, ws._generation, tag, data)
        : outbox.pushBytes(ws._slot, ws._generation, tag, data);
  // Only now: had the data been refused, the callback would be called for another send.
  if (wantsSent) remember(ws, callback);
  return length;
}

/**
 * @param {Connection} ws A connection of the reactor
 * @param {SentCallback} callback Called when the kernel has the last push, or with an error
 */
function remember(ws, callback) {
  if ((ws._bits & GONE) !== 0) {
    process.nextTick(callback, streamDestroyed());
    return;
  }
  const extra = ws._ensureExtra();
  if (extra.callbacks === null) extra.callbacks = [callback];
  else extra.callbacks.push(callback);
}

/**
 * @param {WebSocket} ws A WebSocket in any state
 * @returns {boolean} Whether it has, or had, a connection: not a client whose handshake failed
 */
function hasConnection(ws) {
  return ws._slot !== NO_SLOT || (ws._bits & STREAM) !== 0;
}

/**
 * Queues a command without payload.
 *
 * @param {WebSocket} ws A WebSocket in any state
 * @param {number} kind Kind of the record: OUT_PAUSE, OUT_END and so on
 * @throws {TypeError} Without a connection: in ws the socket is null then
 */
function command(ws, kind) {
  if ((ws._bits & STREAM) !== 0) streamOf(ws).command(kind);
  else if (ws._slot === NO_SLOT) throw new TypeError('The WebSocket has no socket');
  else outbox.pushEmpty(ws._slot, ws._generation, kind);
  outbox.handOver();
}

/**
 * Calls callbacks in order, all of them even if one throws.
 *
 * @param {Function[]} callbacks The callbacks of sends, the oldest first
 * @param {number} next Index of the first one to call
 * @param {Error} [error] Their argument; null by default
 */
function callAll(callbacks, next, error) {
  try {
    while (next < callbacks.length) {
      const callback = callbacks[next++];
      // null and not undefined, as from Node's streams.
      callback(error === undefined ? null : error);
    }
  } finally {
    if (next < callbacks.length) process.nextTick(callAll, callbacks, next, error);
  }
}

/**
 * The kernel has the oldest sends with a callback.
 *
 * @param {Connection} ws A connection of the reactor
 * @param {number} count How many sends
 */
function sent(ws, count) {
  const callbacks = ws._extra === null ? null : ws._extra.callbacks;
  if (callbacks === null) return;
  if (count === 1) callbacks.shift()?.(null);
  else callAll(callbacks.splice(0, count), 0);
}

/**
 * The connection is gone: sends that wait will never leave.
 *
 * @param {Connection} ws A connection of the reactor
 */
function abandonSends(ws) {
  const callbacks = ws._extra === null ? null : ws._extra.callbacks;
  if (callbacks === null || callbacks.length === 0) return;
  callAll(callbacks.splice(0), 0, streamDestroyed());
}

module.exports = { abandonSends, callAll, command, hasConnection, post, push, sent };

'use strict';

const { CLIENT, GONE } = require('../base/bits');
const { bind } = require('../base/async-context');
const { NO_SLOT } = require('../base/constants');
const { wrongType } = require('../base/checks');
const { streamDestroyed } = require('../base/errors');
const { Fifo } = require('../base/fifo');
const { MASK_FLIPPED } = require('./arguments');
const { OUT_FLAG_KEY, OUT_FLAG_WANT_SENT, OUT_PAUSE, OUT_TERMINATE, frameBytes } = require('../base/layout');
const outbox = require('../reactor/outbox');
const { streamOf } = require('./state');

/** @import { Connection, SentCallback, StreamConnection, WebSocket } from './state' */

/** Queues a frame with checked data. @type {(ws: WebSocket, tag: number, data: string | Uint8Array, callback?: SentCallback) => void} */
function enqueue(ws, tag, data, callback) {
  let more = 0;
  if ((ws._bits & CLIENT) !== 0 || (tag & MASK_FLIPPED) !== 0) [tag, data, more] = masked(ws, tag, data);
  // As in ws, a stream that is not Node's is written to at once.
  if (isOther(ws)) {
    outbox.sendNow(() => {
      // First: the stream can send more before this returns.
      const length = push(ws, tag, data, callback);
      ws._accepted += frameBytes(length) + more;
    });
    return;
  }
  const length = push(ws, tag, data, callback);
  ws._accepted += frameBytes(length) + more;
  // A long payload can go to other connections too: if they leave together, it is copied once.
  if (length < outbox.SAME_BYTES) outbox.handOver();
}

/** @param {WebSocket} ws */
function isOther(ws) {
  const stream = streamOf(ws);
  return stream !== null && !stream.lendsMemory;
}

const KEY_BYTES = 4;

/**
 * The reactor masks, with its own key or the program's, which precedes the payload. `more`: bytes of a key that is not
 * in `data`.
 *
 * @type {(ws: WebSocket, tag: number, data: string | Uint8Array) => [tag: number, data: string | Uint8Array, more: number]}
 */
function masked(ws, tag, data) {
  const isMasked = ((ws._bits & CLIENT) !== 0) !== ((tag & MASK_FLIPPED) !== 0);
  if (!isMasked) return [tag, data, 0];
  const stream = streamOf(ws);
  return stream?.generateMask === undefined ? [tag, data, KEY_BYTES] : [tag | OUT_FLAG_KEY, keyed(stream, data), 0];
}

/** The key of the frame, then the data. @type {(stream: StreamConnection, data: string | Uint8Array) => Buffer} */
function keyed(stream, data) {
  stream.generateMask?.(stream.maskKey);
  return Buffer.concat([stream.maskKey, Buffer.from(data)]);
}

/**
 * Puts a record into the outbox. The callback is called when its payload has left.
 *
 * @type {(ws: Connection, tag: number, data: string | Uint8Array, callback?: SentCallback) => number}
 */
function push(ws, tag, data, callback) {
  if (typeof callback !== 'function') {
    if (callback) throw wrongType('callback', 'a function', callback);
    return outbox.push(ws._slot, ws._generation, tag, data);
  }
  // First: a stream can write the record before `push` returns.
  const callbacks = remember(ws, callback);
  try {
    return outbox.push(ws._slot, ws._generation, tag | OUT_FLAG_WANT_SENT, data);
  } catch (error) {
    // Refused: the callback would be called for another send.
    callbacks?.pop();
    throw error;
  }
}

/**
 * The callbacks, of which it is the last; null if the connection has ended.
 *
 * @type {(ws: Connection, callback: SentCallback) => import('../base/fifo').FifoOf<SentCallback> | null}
 */
function remember(ws, callback) {
  if ((ws._bits & GONE) !== 0) {
    process.nextTick(callback, streamDestroyed());
    return null;
  }
  const extra = ws._ensureExtra();
  // A stream can report a write in the callback of another send.
  if (extra.stream !== null) callback = bind(callback);
  extra.callbacks ??= new Fifo();
  extra.callbacks.push(callback);
  return extra.callbacks;
}

/** Whether it has or had a connection. A client has none if its handshake fails. @param {WebSocket} ws */
function hasConnection(ws) {
  return ws._slot !== NO_SLOT;
}

/** Throws a TypeError without a connection: in ws, the socket is null then. @type {(ws: WebSocket, kind: number) => void} */
function command(ws, kind) {
  if (ws._slot === NO_SLOT) throw new TypeError('The WebSocket has no socket');
  const stream = streamOf(ws);
  if (stream !== null && kind === OUT_TERMINATE) {
    // As in ws, visible at once.
    outbox.sendNow(() => outbox.pushEmpty(ws._slot, ws._generation, kind));
    stream.command(kind);
    return;
  }
  // First: the reactor reads on from a stream whose own `pause()` throws.
  if (kind === OUT_PAUSE) stream?.command(kind);
  outbox.pushEmpty(ws._slot, ws._generation, kind);
  outbox.handOver();
  if (kind !== OUT_PAUSE) stream?.command(kind);
}

/** Calls all callbacks in order, even if one throws. @type {(callbacks: Function[], next: number, error?: Error) => void} */
function callAll(callbacks, next, error) {
  try {
    while (next < callbacks.length) {
      const callback = callbacks[next++];
      // Node's streams pass null, not undefined.
      callback(error === undefined ? null : error);
    }
  } finally {
    if (next < callbacks.length) process.nextTick(callAll, callbacks, next, error);
  }
}

/** The kernel has `count` more sends with a callback. @type {(ws: Connection, count: number) => void} */
function sent(ws, count) {
  const callbacks = ws._extra === null ? null : ws._extra.callbacks;
  if (callbacks === null) return;
  if (count === 1) callbacks.shift()?.(null);
  else callAll(callbacks.take(count), 0);
}

/** The connection has ended: waiting sends never leave. @type {(ws: Connection, error?: Error) => void} */
function abandonSends(ws, error) {
  const callbacks = ws._extra === null ? null : ws._extra.callbacks;
  if (callbacks === null || callbacks.length === 0) return;
  callAll(callbacks.take(), 0, error ?? streamDestroyed());
}

module.exports = { KEY_BYTES, abandonSends, callAll, command, hasConnection, isOther, keyed, enqueue, push, sent };

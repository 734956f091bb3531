'use strict';

// Sends behind one whose bytes are not there yet: a Blob that is being read, or a message that is
// being compressed. They wait in `extra.waiting`, and only while SENDS_WAIT is set. That is until
// `arrived` or `abandon` is called, so no send is forgotten.

const { ERROR_EMITTED, GONE, SENDS_WAIT } = require('../bits');
const { OPEN } = require('../constants');
const { failed } = require('../reactor/diagnostics');
const { streamDestroyed } = require('../errors');
const { OUT_END } = require('../reactor/layout');
const { callAll, command } = require('./post');
const { startClosing } = require('./state');

/** @import { SentCallback, WebSocket } from './state' */

/** The queue of a connection that sends no more: nothing can be added to it. */
const ABANDONED = /** @type {Waiting[]} */ (/** @type {unknown} */ (Object.freeze([])));

/**
 * Makes sends wait for some bytes from now on.
 *
 * @param {WebSocket} ws The WebSocket that sends
 * @param {number} size The number of bytes; `bufferedAmount` counts them
 */
function expect(ws, size) {
  ws._ensureExtra().lateBytes += size;
  ws._bits |= SENDS_WAIT;
}

/**
 * The bytes are there. The caller posts them and then calls `sendWaiting`.
 *
 * @param {WebSocket} ws The WebSocket that sends
 * @param {number} size As for `expect`
 */
function arrived(ws, size) {
  ws._ensureExtra().lateBytes -= size;
  ws._bits &= ~SENDS_WAIT;
}

/**
 * @param {WebSocket} ws The WebSocket that sends
 * @param {number} size Bytes, which `bufferedAmount` counts until `send` is called
 * @param {(error?: Error) => void} send Sends now; gets an error instead if that can never be
 */
function sendLater(ws, size, send) {
  const extra = ws._ensureExtra();
  if (extra.waiting === ABANDONED) {
    process.nextTick(send, streamDestroyed());
    return;
  }
  extra.lateBytes += size;
  if (extra.waiting === null) extra.waiting = [];
  extra.waiting.push({ send, size });
}

/**
 * A send that waits.
 *
 * @typedef {object} Waiting
 * @property {(error?: Error) => void} send Sends now; gets an error instead if that can never be
 * @property {number} size Bytes, which `bufferedAmount` counts until `send` is called
 */

/**
 * Makes sends, and behind them those that wait.
 *
 * @param {WebSocket} ws A WebSocket without SENDS_WAIT
 * @param {Waiting[]} sends Sends whose place is before those that wait
 */
function sendFirst(ws, sends) {
  const extra = ws._ensureExtra();
  if (extra.waiting !== ABANDONED) {
    for (const { size } of sends) extra.lateBytes += size;
    extra.waiting = sends.concat(extra.waiting ?? []);
  }
  sendWaiting(ws);
}

/**
 * Makes the sends that have waited, up to one that others have to wait for.
 *
 * @param {WebSocket} ws A WebSocket without SENDS_WAIT
 */
function sendWaiting(ws) {
  const extra = ws._ensureExtra();
  const { waiting } = extra;
  if (waiting === null || waiting === ABANDONED) return;
  // One send may stand for several, which come before those behind it.
  extra.waiting = null;
  let next = 0;
  while (next < waiting.length && (ws._bits & SENDS_WAIT) === 0) {
    const { send, size } = waiting[next++];
    extra.lateBytes -= size;
    attempt(ws, 0, /** @type {SentCallback} */ (send), send);
  }
  const { waiting: first } = ws._ensureExtra();
  if (first === null) extra.waiting = next === 0 ? waiting : waiting.slice(next);
  else extra.waiting = first.concat(waiting.slice(next));
}

/**
 * Makes a send outside of a call of the program. An exception ends the connection, as does a
 * Blob that cannot be read.
 *
 * @param {WebSocket} ws The WebSocket that sends
 * @param {number} size Bytes of it that `bufferedAmount` has counted until now
 * @param {SentCallback | undefined} callback Gets the exception
 * @param {() => void} send Makes the send
 */
function attempt(ws, size, callback, send) {
  try {
    send();
  } catch (error) {
    expect(ws, size);
    process.nextTick(giveUp, ws, size, callback, error);
  }
}

/**
 * The bytes will never be there. Later sends are refused too: the peer would miss bytes that came
 * before.
 *
 * @param {WebSocket} ws The WebSocket that sends
 * @param {number} size As for `expect`
 * @param {SentCallback | undefined} callback The callback of their send
 * @param {Error} error The argument of that callback, and of those of the sends that have waited
 */
function abandon(ws, size, callback, error) {
  const extra = ws._ensureExtra();
  const waiting = extra.waiting ?? [];
  extra.waiting = ABANDONED;
  extra.lateBytes -= size;
  const sends = [];
  if (typeof callback === 'function') sends.push(callback);
  for (const one of waiting) {
    extra.lateBytes -= one.size;
    sends.push(one.send);
  }
  callAll(sends, 0, error);
}

/**
 * A send has failed although the peer is there: the connection cannot go on in order.
 *
 * @param {WebSocket} ws The WebSocket that sends
 * @param {number} size As for `expect`
 * @param {SentCallback | undefined} callback Called when the kernel has all of it, or never will
 *   have it
 * @param {Error} error The cause of the failure
 */
function giveUp(ws, size, callback, error) {
  try {
    abandon(ws, size, callback, error);
  } finally {
    end(ws, error);
  }
}

/**
 * @param {WebSocket} ws The WebSocket that sends
 * @param {Error} error The error to emit
 */
function end(ws, error) {
  if ((ws._bits & GONE) !== 0) return;
  if (ws._readyState === OPEN) {
    startClosing(ws);
    ws._extra?.stream?.startCloseTimer();
  }
  command(ws, OUT_END);
  if ((ws._bits & ERROR_EMITTED) !== 0) return;
  ws._bits |= ERROR_EMITTED;
  failed(ws, error);
  ws.emit('error', error);
}

module.exports = { abandon, arrived, attempt, expect, giveUp, sendFirst, sendLater, sendWaiting };

'use strict';

// Sends after one whose bytes are not there yet: a Blob that is being read. They wait in `extra.waiting`, and only
// while SENDS_WAIT is set. That is until `arrived` or `abandon` is called, so no send is forgotten.

const { ERROR_EMITTED, GONE, SENDS_WAIT } = require('../base/bits');
const { OPEN } = require('../base/constants');
const { failed } = require('../reactor/diagnostics');
const { streamDestroyed } = require('../base/errors');
const { OUT_END } = require('../base/layout');
const { callAll, command } = require('./post');
const { startClosing } = require('./state');

/** @import { SentCallback, Waiting, WebSocket } from './state' */

/** The queue of a connection that sends no more. */
const ABANDONED = /** @type {Waiting[]} */ (/** @type {unknown} */ (Object.freeze([])));

/** Sends wait for these bytes; `bufferedAmount` counts them. @type {(ws: WebSocket, size: number) => void} */
function expect(ws, size) {
  ws._ensureExtra().lateBytes += size;
  ws._bits |= SENDS_WAIT;
}

/** The caller posts the bytes and then calls `sendWaiting`. @type {(ws: WebSocket, size: number) => void} */
function arrived(ws, size) {
  ws._ensureExtra().lateBytes -= size;
  ws._bits &= ~SENDS_WAIT;
}

/** `bufferedAmount` counts the bytes until `send` is called. @type {(ws: WebSocket, size: number, send: Waiting['send']) => void} */
function sendLater(ws, size, send) {
  const extra = ws._ensureExtra();
  if (extra.waiting === ABANDONED) {
    process.nextTick(send, streamDestroyed());
    return;
  }
  extra.lateBytes += size;
  (extra.waiting ??= []).push({ send, size });
}

/** Makes the sends that have waited, up to one that others have to wait for. @type {(ws: WebSocket) => void} */
function sendWaiting(ws) {
  const extra = ws._ensureExtra();
  const { waiting } = extra;
  if (waiting === null || waiting === ABANDONED) return;
  let next = 0;
  while (next < waiting.length && (ws._bits & SENDS_WAIT) === 0) {
    const { send, size } = waiting[next++];
    extra.lateBytes -= size;
    attempt(ws, 0, /** @type {SentCallback} */ (send), send);
  }
  waiting.splice(0, next);
}

/**
 * Makes a send outside of a call of the program. An exception ends the connection, as does a Blob that cannot be
 * read. `size`: bytes of it that `bufferedAmount` has counted until now.
 *
 * @type {(ws: WebSocket, size: number, callback: SentCallback | undefined, send: () => void) => void}
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
 * @type {(ws: WebSocket, size: number, callback: SentCallback | undefined, error: Error) => void}
 */
function abandon(ws, size, callback, error) {
  const extra = ws._ensureExtra();
  const waiting = extra.waiting ?? [];
  extra.waiting = ABANDONED;
  extra.lateBytes -= waiting.reduce((sum, one) => sum + one.size, size);
  const sends = waiting.map(({ send }) => send);
  callAll(typeof callback === 'function' ? [callback, ...sends] : sends, 0, error);
}

/**
 * A send has failed although the peer is there: the connection cannot go on in order.
 *
 * @type {(ws: WebSocket, size: number, callback: SentCallback | undefined, error: Error) => void}
 */
function giveUp(ws, size, callback, error) {
  try {
    abandon(ws, size, callback, error);
  } finally {
    end(ws, error);
  }
}

/** @type {(ws: WebSocket, error: Error) => void} */
function end(ws, error) {
  if ((ws._bits & GONE) !== 0) return;
  if (ws._readyState === OPEN) startClosing(ws);
  command(ws, OUT_END);
  if ((ws._bits & ERROR_EMITTED) !== 0) return;
  ws._bits |= ERROR_EMITTED;
  failed(ws, error);
  ws.emit('error', error);
}

module.exports = { abandon, arrived, attempt, expect, giveUp, sendLater, sendWaiting };

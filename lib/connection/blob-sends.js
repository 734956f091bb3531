'use strict';

// Sends after a Blob that is being read wait in `extra.pendingSends`, only while SENDS_WAIT is set: until the Blob has been
// read, or for good if it cannot be sent. So no send is forgotten.

const { ERROR_EMITTED, GONE, SENDS_WAIT, TERMINATED } = require('../base/bits');
const { FastBuffer, OPEN } = require('../base/constants');
const { failed } = require('../reactor/diagnostics');
const { streamDestroyed } = require('../base/errors');
const { OUT_END } = require('../base/layout');
const { callAll, command, enqueue } = require('./enqueue');
const { awaitDrain } = require('./backpressure');
const { startClosing, streamOf } = require('./state');

/** @import { SentCallback, PendingSend, WebSocket } from './state' */

/** In place of the list, once the connection sends no more. @type {any} */
const ABANDONED = Object.freeze([]);

/**
 * Sends now, or after earlier Blobs; until then `bufferedAmount` counts `size` bytes.
 *
 * @type {(ws: WebSocket, size: number, send: PendingSend['send']) => void}
 */
function sendInOrder(ws, size, send) {
  if ((ws._bits & SENDS_WAIT) === 0) return send(undefined);
  const extra = ws._ensureExtra();
  if (extra.pendingSends === ABANDONED) {
    process.nextTick(send, streamDestroyed());
    return;
  }
  extra.lateBytes += size;
  (extra.pendingSends ??= []).push({ send, size });
}

/** Later sends wait for the Blob. @type {(ws: WebSocket, tag: number, blob: Blob, callback?: SentCallback) => void} */
function sendBlob(ws, tag, blob, callback) {
  const { size } = blob;
  expect(ws, size);
  blob.arrayBuffer().then(
    (bytes) => {
      if ((ws._bits & (GONE | TERMINATED)) !== 0 || streamOf(ws)?.socket.destroyed) {
        const error = new Error('The socket was closed while the blob was being read');
        process.nextTick(abandon, ws, size, callback, error);
        return;
      }
      ws._ensureExtra().lateBytes -= size;
      ws._bits &= ~SENDS_WAIT;
      attempt(ws, size, callback, () => enqueue(ws, tag, new FastBuffer(bytes), callback));
      sendWaiting(ws);
      awaitDrain(ws, ws._ensureExtra());
    },
    (error) => process.nextTick(giveUp, ws, size, callback, error),
  );
}

/** Later sends wait for these bytes, which `bufferedAmount` counts. @type {(ws: WebSocket, size: number) => void} */
function expect(ws, size) {
  ws._ensureExtra().lateBytes += size;
  ws._bits |= SENDS_WAIT;
}

/** Makes waiting sends, up to one that others must wait for. @param {WebSocket} ws */
function sendWaiting(ws) {
  const extra = ws._ensureExtra();
  const { pendingSends: waiting } = extra;
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
 * Sends outside of a call of the program. An exception ends the connection, as does an unreadable Blob. `size`: bytes
 * that `bufferedAmount` has counted.
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

/** @typedef {(ws: WebSocket, size: number, callback: SentCallback | undefined, error: Error) => void} Refuse */

/** The bytes never arrive. Later sends are refused too: the peer would miss earlier bytes. @type {Refuse} */
function abandon(ws, size, callback, error) {
  const extra = ws._ensureExtra();
  const waiting = extra.pendingSends ?? [];
  extra.pendingSends = ABANDONED;
  extra.lateBytes -= waiting.reduce((sum, one) => sum + one.size, size);
  const sends = waiting.map(({ send }) => send);
  callAll(typeof callback === 'function' ? [callback, ...sends] : sends, 0, error);
}

/** A send has failed while the peer is there: the connection cannot go on in order. @type {Refuse} */
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
  ws.emit('error', failed(ws, error));
}

module.exports = { sendInOrder, sendBlob };

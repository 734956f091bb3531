'use strict';

// Not the global ones, which a test can replace.
const { clearTimeout, setTimeout } = require('node:timers');

const { CLIENT, CLOSE_SENT, GONE, SENDS_WAIT, TERMINATED } = require('../base/bits');
const { CONNECTING, OPEN, READY_STATES } = require('../base/constants');
const { delay } = require('../base/checks');
const { connectionMoved, streamDestroyed } = require('../base/errors');
const { AUX_SHIFT, CAUSE, CONTROL_BYTES, HIGH_WATER_MARK, OUT_CLOSE, OUT_FLAG_KEY, OUT_WRITE } = require('../base/layout');
const outbox = require('../reactor/outbox');
const { MASK_FLIPPED, byteLength, controlPayload, controlTooLong, copyOf, isBlob, toBytes } = require('./arguments');
const { isOther, keyed, enqueue, push } = require('./enqueue');
const { hasRoom } = require('./backpressure');
const { setCause, streamOf } = require('./state');
const { sendInOrder, sendBlob } = require('./blob-sends');

/** @import { Data, SentCallback, WebSocket } from './state' */

/** @type {(ws: WebSocket, tag: number, data: Data | SentCallback, mask?: boolean | SentCallback, callback?: SentCallback) => void} */
function sendControl(ws, tag, data, mask, callback) {
  if (typeof data === 'function') {
    callback = data;
    data = mask = undefined;
  } else if (typeof mask === 'function') {
    callback = mask;
    mask = undefined;
  }
  if (typeof data === 'number') data = data.toString();
  if (ws.readyState !== OPEN) {
    sendClosed(ws, data, callback);
    return;
  }
  if (mask !== undefined) tag |= masking(ws, mask);
  if ((ws._bits & SENDS_WAIT) !== 0 || isBlob(data)) sendInTurn(ws, tag, data, callback, true);
  else enqueue(ws, tag, controlPayload(data), callback);
  // They return nothing, but 'drain' follows.
  if (ws._accepted >= HIGH_WATER_MARK) hasRoom(ws, ws._accepted);
}

/** MASK_FLIPPED, if `mask` is not as the role demands. @type {(ws: WebSocket, mask: unknown) => number} */
function masking(ws, mask) {
  const isRule = !!mask === ((ws._bits & CLIENT) !== 0);
  return isRule ? 0 : MASK_FLIPPED;
}

/**
 * Data that cannot simply be posted: a Blob, what follows one, or data to be converted.
 *
 * @type {(ws: WebSocket, tag: number, data: unknown, callback?: SentCallback, isControl?: boolean) => void}
 */
function sendInTurn(ws, tag, data, callback, isControl) {
  const blob = isBlob(data);
  if (blob && isControl && data.size > CONTROL_BYTES) throw controlTooLong();
  let bytes = blob ? null : isControl ? controlPayload(data) : toBytes(data);
  const send = (/** @type {Error | undefined} */ error) => {
    if (error !== undefined) {
      if (typeof callback === 'function') callback(error);
    } else if (bytes === null) {
      sendBlob(ws, tag, /** @type {Blob} */ (data), callback);
    } else {
      enqueue(ws, tag, bytes, callback);
    }
  };
  const size = bytes === null ? /** @type {Blob} */ (data).size : bytes.length;
  const given = /** @type {Partial<Uint8Array> | null | undefined} */ (data);
  // A copy, as the caller can reuse its memory.
  if ((ws._bits & SENDS_WAIT) !== 0 && bytes !== null && bytes.buffer === (given?.buffer ?? given)) bytes = copyOf(bytes);
  sendInOrder(ws, size, send);
}

/** Refuses a send before or after OPEN. @type {(ws: WebSocket, data: unknown, callback?: SentCallback) => void} */
function sendClosed(ws, data, callback) {
  const state = ws.readyState;
  const message = `WebSocket is not open: readyState ${state} (${READY_STATES[state]})`;
  if (state === CONNECTING) throw new Error(message);
  const length = byteLength(data);
  if (length !== 0) ws._ensureExtra().lateBytes += length;
  if (callback) process.nextTick(callback, ws._extra?.isMoved ? connectionMoved() : new Error(message));
}

/** With checked arguments. @type {(ws: WebSocket, code: number | undefined, reason: Uint8Array) => void} */
function enqueueClose(ws, code, reason) {
  if ((ws._bits & SENDS_WAIT) === 0) {
    closeNow(ws, code, reason);
    return;
  }
  // The reactor's timer begins with the close frame, which a Blob can delay for ever.
  const cut = () => {
    if ((ws._bits & (GONE | TERMINATED)) !== 0) return;
    setCause(ws, CAUSE.CLOSE_TIMEOUT);
    ws.terminate();
  };
  const timer = setTimeout(cut, delay(ws._closeTimeout)).unref();
  // The caller can reuse its memory.
  const copy = copyOf(reason);
  sendInOrder(ws, 0, (error) => {
    clearTimeout(timer);
    if (error === undefined) closeNow(ws, code, copy);
  });
}

/** @type {typeof enqueueClose} */
function closeNow(ws, code, reason) {
  const stream = streamOf(ws);
  if (stream === null) ws._bits |= CLOSE_SENT;
  else stream.closes();
  let tag = OUT_CLOSE | ((code === undefined ? 0 : code) << AUX_SHIFT);
  if (stream?.generateMask !== undefined) {
    tag |= OUT_FLAG_KEY;
    reason = keyed(stream, reason);
  }
  // Not counted, here or in the reactor: ws has handed it to the kernel by now.
  push(ws, tag, reason, stream === null ? undefined : (error) => (ws._bits |= error ? 0 : CLOSE_SENT));
  outbox.handOver();
}

/** A frame of `Sender.frame`. @type {(ws: WebSocket, list: Array<string | Uint8Array>, callback?: SentCallback) => void} */
function sendFrame(ws, list, callback) {
  if ((ws._bits & GONE) !== 0) {
    if (callback) process.nextTick(callback, streamDestroyed());
    return;
  }
  const last = list.length - 1;
  const send = () => {
    for (const [index, part] of list.entries()) {
      // First: the stream can send more before this returns.
      const length = push(ws, OUT_WRITE, part, index === last ? callback : undefined);
      ws._accepted += length;
    }
  };
  if (isOther(ws)) outbox.sendNow(send);
  else send();
}

module.exports = {
  masking,
  enqueueClose,
  sendClosed,
  sendControl,
  sendFrame,
  sendInTurn,
};

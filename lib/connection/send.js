'use strict';

// Not the global one: a test may have put another in its place.
const { setTimeout } = require('node:timers');

const { CLIENT, CLOSE_SENT, GONE, SENDS_WAIT, STREAM, TERMINATED } = require('../bits');
const { CONNECTING, FastBuffer, OPEN, READY_STATES } = require('../constants');
const { delay } = require('../checks');
const { streamDestroyed } = require('../errors');
const { AUX_SHIFT, CAUSE, CONTROL_BYTES, HIGH_WATER_MARK, OUT_CLOSE, OUT_WRITE } = require('../reactor/layout');
const outbox = require('../reactor/outbox');
const { MASK_FLIPPED, byteLength, controlPayload, controlTooLong, copyOf, isBlob, toBytes } = require('./arguments');
const { endsBy } = require('./cause');
const { post, push } = require('./post');
const { hasRoom } = require('./pressure');
const { PreparedMessage } = require('./prepared');
const { streamOf } = require('./state');
const { abandon, arrived, attempt, expect, giveUp, sendLater, sendWaiting } = require('./waiting');

/** @import { Data, SentCallback, WebSocket } from './state' */

/**
 * `ping()` and `pong()`.
 *
 * @param {WebSocket} ws The WebSocket that sends
 * @param {number} tag kind | flags | aux of the record
 * @param {Data | SentCallback} data `Data` of at most 125 bytes, or the callback
 * @param {boolean | SentCallback | undefined} mask Whether the payload is masked, or the callback
 * @param {SentCallback | undefined} callback Called when the kernel has the frame, or never will
 *   have it
 */
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
  else post(ws, tag, controlPayload(data), callback);
  // ping() and pong() return nothing, but 'drain' follows.
  if (ws._accepted >= HIGH_WATER_MARK) hasRoom(ws);
}

/**
 * The `mask` of a send, which has an effect over streams only.
 *
 * @param {WebSocket} ws The WebSocket that sends
 * @param {unknown} mask Whether the payload shall be masked; the rule of the role by default
 * @returns {number} A flag for the tag, or 0
 */
function masking(ws, mask) {
  const isRule = !!mask === ((ws._bits & CLIENT) !== 0);
  return isRule || (ws._bits & STREAM) === 0 ? 0 : MASK_FLIPPED;
}

/**
 * Sends data that cannot just be posted: a Blob or what is behind one, or data that has to be
 * converted.
 *
 * @param {WebSocket} ws The WebSocket that sends
 * @param {number} tag kind | flags | aux of the record
 * @param {unknown} data `Data`, or a PreparedMessage
 * @param {SentCallback | undefined} callback Called when the kernel has all of it, or never will
 *   have it
 * @param {boolean} [isControl] Whether it is a ping or a pong; false by default
 */
function sendInTurn(ws, tag, data, callback, isControl) {
  if (!isControl && data instanceof PreparedMessage) {
    sendPrepared(ws, data, callback);
    return;
  }
  const blob = isBlob(data);
  if (blob && isControl && data.size > CONTROL_BYTES) throw controlTooLong();
  let bytes = blob ? null : isControl ? controlPayload(data) : toBytes(data);
  const send = (/** @type {Error | undefined} */ error) => {
    if (error !== undefined) {
      if (typeof callback === 'function') callback(error);
    } else if (bytes === null) {
      sendBlob(ws, tag, /** @type {Blob} */ (data), callback);
    } else {
      post(ws, tag, bytes, callback);
    }
  };
  if ((ws._bits & SENDS_WAIT) === 0) {
    send(undefined);
    return;
  }
  const size = bytes === null ? /** @type {Blob} */ (data).size : bytes.length;
  // A copy: the caller may use its memory again.
  const given = /** @type {Partial<Uint8Array> | null | undefined} */ (data);
  if (bytes !== null && bytes.buffer === (given?.buffer ?? given)) bytes = copyOf(bytes);
  sendLater(ws, size, send);
}

/**
 * @param {WebSocket} ws The WebSocket that sends
 * @param {InstanceType<typeof PreparedMessage>} message The message
 * @param {SentCallback | undefined} callback Called when the kernel has all of it, or never will
 *   have it
 */
function sendPrepared(ws, message, callback) {
  if ((ws._bits & SENDS_WAIT) === 0) {
    PreparedMessage.post(message, ws, callback);
    return;
  }
  sendLater(ws, message.length, (error) => {
    if (error === undefined) PreparedMessage.post(message, ws, callback);
    else if (typeof callback === 'function') callback(error);
  });
}

/**
 * Refuses a send before the connection is open, or after it has left OPEN.
 *
 * @param {WebSocket} ws The WebSocket that would send
 * @param {unknown} data `Data`, or a PreparedMessage
 * @param {SentCallback | undefined} callback Called when the kernel has all of it, or never will
 *   have it
 */
function sendClosed(ws, data, callback) {
  const state = ws.readyState;
  const message = `WebSocket is not open: readyState ${state} (${READY_STATES[state]})`;
  if (state === CONNECTING) throw new Error(message);
  const length = data instanceof PreparedMessage ? data.length : byteLength(data);
  if (length !== 0) ws._ensureExtra().lateBytes += length;
  if (callback) process.nextTick(callback, new Error(message));
}

/**
 * Sends a close frame whose arguments were checked.
 *
 * @param {WebSocket} ws The WebSocket that closes
 * @param {number | undefined} code Status code; undefined for a frame without a body
 * @param {Uint8Array} reason At most 123 bytes of UTF-8
 */
function postClose(ws, code, reason) {
  if ((ws._bits & SENDS_WAIT) === 0) {
    closeNow(ws, code, reason);
    return;
  }
  // The reactor's timer begins with the close frame, which a Blob may keep for ever.
  setTimeout(cut, delay(ws._closeTimeout), ws).unref();
  // A copy: the caller may use its memory again.
  const copy = copyOf(reason);
  sendLater(ws, 0, (error) => error === undefined && closeNow(ws, code, copy));
}

/** @param {WebSocket} ws A WebSocket that has been closing for too long */
function cut(ws) {
  if ((ws._bits & (GONE | TERMINATED)) !== 0) return;
  endsBy(ws, CAUSE.CLOSE_TIMEOUT);
  ws.terminate();
}

/**
 * @param {WebSocket} ws The WebSocket that closes
 * @param {number | undefined} code Status code; undefined for a frame without a body
 * @param {Uint8Array} reason At most 123 bytes of UTF-8
 */
function closeNow(ws, code, reason) {
  if ((ws._bits & STREAM) !== 0) {
    streamOf(ws).close(code, reason);
    return;
  }
  ws._bits |= CLOSE_SENT;
  const tag = OUT_CLOSE | ((code === undefined ? 0 : code) << AUX_SHIFT);
  // Counted neither here nor by the reactor: ws has handed the frame to the kernel by now.
  push(ws, tag, reason);
  outbox.handOver();
}

/**
 * Reads a Blob and sends it. Later sends wait for it.
 *
 * @param {WebSocket} ws The WebSocket that sends
 * @param {number} tag kind | flags | aux of the record
 * @param {Blob} blob The payload
 * @param {SentCallback | undefined} callback Called when the kernel has all of it, or never will
 *   have it
 */
function sendBlob(ws, tag, blob, callback) {
  const { size } = blob;
  expect(ws, size);
  blob.arrayBuffer().then(
    (bytes) => {
      if ((ws._bits & (GONE | TERMINATED)) !== 0 || ws._extra?.stream?.socket.destroyed) {
        const error = new Error('The socket was closed while the blob was being read');
        process.nextTick(abandon, ws, size, callback, error);
        return;
      }
      arrived(ws, size);
      attempt(ws, size, callback, () => post(ws, tag, new FastBuffer(bytes), callback));
      sendWaiting(ws);
    },
    (error) => process.nextTick(giveUp, ws, size, callback, error),
  );
}

/**
 * Writes a frame of `Sender.frame`.
 *
 * @param {WebSocket} ws The WebSocket that sends
 * @param {Array<string | Uint8Array>} list The pieces of a frame, in order
 * @param {SentCallback} [callback] Called when all of it was handed on
 */
function sendFrame(ws, list, callback) {
  if ((ws._bits & STREAM) !== 0) {
    streamOf(ws).cork.writeAll(list, callback);
    return;
  }
  if ((ws._bits & GONE) !== 0) {
    if (callback) process.nextTick(callback, streamDestroyed());
    return;
  }
  const last = list.length - 1;
  for (const [index, part] of list.entries()) {
    ws._accepted += push(ws, OUT_WRITE, part, index === last ? callback : undefined);
  }
}

module.exports = {
  masking,
  postClose,
  sendClosed,
  sendControl,
  sendFrame,
  sendInTurn,
};

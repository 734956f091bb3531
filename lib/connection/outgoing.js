'use strict';

const { isUint8Array } = require('node:util').types;

const { GONE, STREAM } = require('../bits');
const { EMPTY_BUFFER, FastBuffer, NO_SLOT, hasBlob } = require('../constants');
const { streamDestroyed } = require('../errors');
const {
  AUX_SHIFT,
  CONTROL_BYTES,
  OUT_BINARY,
  OUT_FLAG_COMPRESS,
  OUT_FLAG_FIN,
  OUT_FLAG_WANT_SENT,
  OUT_TEXT,
  REASON_BYTES,
  frameBytes,
} = require('../reactor/layout');
const outbox = require('../reactor/outbox');
const { lastViewOf } = require('../reactor/same');
const { streamOf } = require('./state');
const { lengthOf } = require('../views');

/** @import { Connection, SentCallback, WebSocket } from './state' */

/** What is sent without options. OUT_FLAG_COMPRESS says nothing where permessage-deflate was not negotiated. */
const TEXT = OUT_TEXT | OUT_FLAG_FIN | OUT_FLAG_COMPRESS;
const BINARY = OUT_BINARY | OUT_FLAG_FIN | OUT_FLAG_COMPRESS;

/** Of a tag of send(), ping() or pong(): masked by a server, not masked by a client. Streams only. */
const MASK_FLIPPED = 1 << AUX_SHIFT;

const PLAIN = /** @type {any} */ (Object.prototype);

/**
 * The tag of a message that was sent with options. An own property that is undefined counts as given,
 * because ws spreads the options over its defaults.
 *
 * @param {any} options `{ binary, compress, fin }`
 * @param {boolean} binary Whether it is binary when the options do not say
 * @returns {number}
 */
function tagOf(options, binary) {
  if (typeof options !== 'object') return binary ? BINARY : TEXT;
  // What can be read from a plain object is its own, unless somebody has put it into the prototype of all objects.
  const plain =
    Object.getPrototypeOf(options) === PLAIN &&
    PLAIN.binary === undefined &&
    PLAIN.compress === undefined &&
    PLAIN.fin === undefined;
  const given = plain ? options : { __proto__: null, ...options };
  const { binary: isBinary, compress, fin } = given;
  if (isBinary !== undefined || 'binary' in given) binary = !!isBinary;
  let tag = binary ? OUT_BINARY : OUT_TEXT;
  if (compress !== undefined ? compress : !('compress' in given)) tag |= OUT_FLAG_COMPRESS;
  return (fin !== undefined ? fin : !('fin' in given)) ? tag | OUT_FLAG_FIN : tag;
}

/**
 * What `send()` takes, as bytes.
 *
 * @param {any} data
 * @returns {Uint8Array}
 * @throws {TypeError} ERR_INVALID_ARG_TYPE for what is neither bytes nor text; for what has been detached
 */
function toBytes(data) {
  if (!data) return EMPTY_BUFFER;
  if (isUint8Array(data)) {
    const length = lengthOf.call(data);
    // A `length` of its own must not decide how much memory is sent. What was detached is refused, but for a Buffer, as in ws.
    if (data.length === length && (length !== 0 || Buffer.isBuffer(data))) return data;
    return new FastBuffer(data.buffer, data.byteOffset, length);
  }
  if (data instanceof ArrayBuffer) return lastViewOf(data, 0, data.byteLength) ?? new FastBuffer(data);
  if (ArrayBuffer.isView(data)) {
    const { buffer, byteOffset, byteLength } = data;
    return lastViewOf(buffer, byteOffset, byteLength) ?? new FastBuffer(buffer, byteOffset, byteLength);
  }
  return Buffer.from(data);
}

/**
 * All of some bytes: an own `length`, which `Buffer.from` asks for, must not decide how many they are.
 *
 * @param {Uint8Array} bytes
 * @returns {Buffer}
 */
function copyOf(bytes) {
  return new FastBuffer(new Uint8Array(bytes).buffer);
}

/**
 * @param {any} value
 * @returns {boolean}
 */
function isBlob(value) {
  return (
    hasBlob &&
    typeof value === 'object' &&
    value !== null &&
    typeof value.arrayBuffer === 'function' &&
    typeof value.type === 'string' &&
    typeof value.stream === 'function' &&
    (value[Symbol.toStringTag] === 'Blob' || value[Symbol.toStringTag] === 'File')
  );
}

/**
 * Bytes of `data` as a message.
 *
 * @param {any} data
 * @returns {number}
 */
function byteLength(data) {
  if (!data) return 0;
  if (typeof data === 'string') return Buffer.byteLength(data);
  return isBlob(data) ? data.size : toBytes(data).length;
}

/**
 * @param {any} code
 * @returns {boolean} Whether a close frame may carry it (RFC 6455, 7.4)
 */
function isValidStatusCode(code) {
  return (
    (code >= 1000 && code <= 1014 && code !== 1004 && code !== 1005 && code !== 1006) ||
    (code >= 3000 && code <= 4999)
  );
}

/**
 * Checks the arguments of `close()`.
 *
 * @param {any} code
 * @param {any} reason
 * @returns {Uint8Array} The reason as bytes
 * @throws {TypeError | RangeError}
 */
function closeReason(code, reason) {
  if (code === undefined) return EMPTY_BUFFER;
  if (typeof code !== 'number' || !isValidStatusCode(code)) {
    throw new TypeError('First argument must be a valid error code number');
  }
  if (reason === undefined || !reason.length) return EMPTY_BUFFER;
  if (Buffer.byteLength(reason) > REASON_BYTES) {
    throw new RangeError(`The message must not be greater than ${REASON_BYTES} bytes`);
  }
  if (typeof reason === 'string') return Buffer.from(reason);
  if (isUint8Array(reason)) return toBytes(reason);
  throw new TypeError('Second argument must be a string or a Uint8Array');
}

/**
 * Checks the data of `ping()` and `pong()`.
 *
 * @param {any} data
 * @returns {Uint8Array}
 * @throws {RangeError | TypeError}
 */
function controlPayload(data) {
  const bytes = toBytes(data);
  if (bytes.length > CONTROL_BYTES) throw controlTooLong();
  return bytes;
}

/** @returns {RangeError} For the payload of a control frame */
function controlTooLong() {
  return new RangeError(`The data size must not be greater than ${CONTROL_BYTES} bytes`);
}

/**
 * Queues one frame. The data must have been checked.
 *
 * @param {WebSocket} ws
 * @param {number} tag kind | flags << 8 | aux << 16
 * @param {string | Uint8Array} data
 * @param {SentCallback} [callback] Called when the bytes were handed to the kernel
 */
function post(ws, tag, data, callback) {
  if ((ws._bits & STREAM) !== 0) {
    streamOf(ws).post(tag, data, typeof callback === 'function' ? callback : undefined);
    return;
  }
  ws._accepted += frameBytes(push(ws, tag, data, callback));
}

/**
 * Puts a record of a connection of the reactor where the next flush finds it, and remembers who wants to hear that its payload
 * has left.
 *
 * @param {Connection} ws
 * @param {number} tag kind | flags << 8 | aux << 16
 * @param {string | Uint8Array | number} data The payload, or the number of a prepared message
 * @param {SentCallback} [callback]
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
  // Not before: if the data is refused, this callback would be called for another send.
  if (wantsSent) remember(ws, callback);
  return length;
}

/**
 * @param {Connection} ws
 * @param {SentCallback} callback
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
 * @param {WebSocket} ws
 * @returns {boolean} Whether it has, or had, a connection. A client whose handshake failed never had one
 */
function hasConnection(ws) {
  return ws._slot !== NO_SLOT || (ws._bits & STREAM) !== 0;
}

/**
 * Queues a command without payload.
 *
 * @param {WebSocket} ws
 * @param {number} kind
 * @throws {TypeError} Without a connection, as in ws, where the socket is null then
 */
function command(ws, kind) {
  if ((ws._bits & STREAM) !== 0) streamOf(ws).command(kind);
  else if (ws._slot === NO_SLOT) throw new TypeError('The WebSocket has no socket');
  else outbox.pushEmpty(ws._slot, ws._generation, kind);
}

/**
 * Calls callbacks in order; one that throws does not take the others with it.
 *
 * @param {Function[]} callbacks
 * @param {number} next Index of the first one to call
 * @param {Error} [error]
 */
function callAll(callbacks, next, error) {
  try {
    while (next < callbacks.length) {
      const callback = callbacks[next++];
      // null, as the callbacks of Node's streams get it.
      callback(error === undefined ? null : error);
    }
  } finally {
    if (next < callbacks.length) process.nextTick(callAll, callbacks, next, error);
  }
}

/**
 * The oldest sends with a callback are in the kernel.
 *
 * @param {Connection} ws
 * @param {number} count How many
 */
function sent(ws, count) {
  const callbacks = ws._extra === null ? null : ws._extra.callbacks;
  if (callbacks === null) return;
  if (count === 1) callbacks.shift()?.(null);
  else callAll(callbacks.splice(0, count), 0);
}

/**
 * The connection is gone: what was not sent never will be.
 *
 * @param {Connection} ws
 */
function abandonSends(ws) {
  const callbacks = ws._extra === null ? null : ws._extra.callbacks;
  if (callbacks === null || callbacks.length === 0) return;
  callAll(callbacks.splice(0), 0, streamDestroyed());
}

module.exports = {
  BINARY,
  MASK_FLIPPED,
  TEXT,
  abandonSends,
  byteLength,
  callAll,
  closeReason,
  command,
  controlPayload,
  controlTooLong,
  copyOf,
  hasConnection,
  isBlob,
  isValidStatusCode,
  post,
  push,
  sent,
  tagOf,
  toBytes,
};

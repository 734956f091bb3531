'use strict';

// Arguments of send(), ping(), pong() and close(): checked, and in the form that is sent.

const { isUint8Array } = require('node:util').types;

const { EMPTY_BUFFER, FastBuffer } = require('../base/constants');
const {
  AUX_SHIFT,
  CONTROL_BYTES,
  MASK_AGAINST,
  OUT_BINARY,
  OUT_FLAG_COMPRESS,
  OUT_FLAG_FIN,
  OUT_TEXT,
  REASON_BYTES,
  isValidStatusCode,
} = require('../base/layout');
const { lengthOf } = require('../base/views');

/** @import { SendOptions } from '../../types/sending' */

/** Tags of messages without options. OUT_FLAG_COMPRESS needs a negotiated permessage-deflate. */
const TEXT = OUT_TEXT | OUT_FLAG_FIN | OUT_FLAG_COMPRESS;
const BINARY = OUT_BINARY | OUT_FLAG_FIN | OUT_FLAG_COMPRESS;

/** In the tag of send(), ping() or pong(): a server masks the frame, a client does not. */
const MASK_FLIPPED = MASK_AGAINST << AUX_SHIFT;

/** @type {SendOptions} */
const PLAIN = Object.prototype;

/**
 * As ws spreads options over its defaults, an own property that is undefined counts as given.
 *
 * @type {(options: SendOptions, binary: boolean) => number}
 */
function tagOf(options, binary) {
  if (typeof options !== 'object') return binary ? BINARY : TEXT;
  // Properties of a plain object are its own, unless a program has extended Object.prototype.
  const plain =
    Object.getPrototypeOf(options) === PLAIN &&
    PLAIN.binary === undefined &&
    PLAIN.compress === undefined &&
    PLAIN.fin === undefined;
  /** @type {any} */
  const given = plain ? options : { __proto__: null, ...options };
  const { binary: isBinary, compress, fin } = given;
  if (isBinary !== undefined || 'binary' in given) binary = !!isBinary;
  let tag = binary ? OUT_BINARY : OUT_TEXT;
  if (compress !== undefined ? compress : !('compress' in given)) tag |= OUT_FLAG_COMPRESS;
  return (fin !== undefined ? fin : !('fin' in given)) ? tag | OUT_FLAG_FIN : tag;
}

/** Throws ERR_INVALID_ARG_TYPE for data that is neither bytes nor text, and for detached memory. @type {(data: any) => Uint8Array} */
function toBytes(data) {
  if (!data) return EMPTY_BUFFER;
  if (isUint8Array(data)) {
    const length = lengthOf.call(data);
    // An own property `length` must not decide how much is sent. As in ws, detached memory is refused, except a
    // Buffer's.
    if (data.length === length && (length !== 0 || Buffer.isBuffer(data))) return data;
    return new FastBuffer(data.buffer, data.byteOffset, length);
  }
  if (data instanceof ArrayBuffer) return new FastBuffer(data);
  if (ArrayBuffer.isView(data)) return new FastBuffer(data.buffer, data.byteOffset, data.byteLength);
  // Throws for anything else.
  return Buffer.from(data);
}

/** All bytes: `Buffer.from` would read an own property `length`, which must not decide. @type {(bytes: Uint8Array) => Buffer} */
function copyOf(bytes) {
  return new FastBuffer(new Uint8Array(bytes).buffer);
}

/** By its members, as in ws: it can be from another realm, or from a package. @type {(value: any) => value is Blob} */
function isBlob(blob) {
  if (typeof blob !== 'object' || blob === null) return false;
  return (
    typeof blob.arrayBuffer === 'function' &&
    typeof blob.type === 'string' &&
    typeof blob.stream === 'function' &&
    (blob[Symbol.toStringTag] === 'Blob' || blob[Symbol.toStringTag] === 'File')
  );
}

/** @param {unknown} data */
function byteLength(data) {
  if (!data) return 0;
  if (typeof data === 'string') return Buffer.byteLength(data);
  return isBlob(data) ? data.size : toBytes(data).length;
}

/** Checks the arguments of `close()` and returns the reason. @type {(code: unknown, reason: string | Uint8Array | undefined) => Uint8Array} */
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

/** @param {unknown} data */
function controlPayload(data) {
  const bytes = toBytes(data);
  if (bytes.length > CONTROL_BYTES) throw controlTooLong();
  return bytes;
}

function controlTooLong() {
  return new RangeError(`The data size must not be greater than ${CONTROL_BYTES} bytes`);
}

module.exports = {
  BINARY,
  MASK_FLIPPED,
  TEXT,
  byteLength,
  closeReason,
  controlPayload,
  controlTooLong,
  copyOf,
  isBlob,
  tagOf,
  toBytes,
};

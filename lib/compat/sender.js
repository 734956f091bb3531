'use strict';

const { randomInt } = require('node:crypto');
const { isUint8Array } = require('node:util').types;

const { EMPTY_BUFFER, FastBuffer } = require('../base/constants');
const { streamDestroyed } = require('../base/errors');
const { Fifo } = require('../base/fifo');
const { closeReason, isBlob, toBytes } = require('../connection/arguments');
const { callAll } = require('../connection/enqueue');

/** @import { SentCallback as Callback } from '../connection/state' */
/** @import { FrameOptions } from '../../types/tools' */

/** The payload of a frame. @typedef {string | Uint8Array | Blob} Payload */

/** @typedef {{ data: Payload, size: number, compress: boolean, frame: FrameOptions, callback?: Callback }} Send */

const FIN = 0x80;
const RSV1 = 0x40;
const MASK = 0x80;

const TEXT = 0x1;
const BINARY = 0x2;
const CLOSE = 0x8;
const PING = 0x9;
const PONG = 0xa;

/**
 * A payload of at most LENGTH_7 bytes has its length in the second byte of the header; below LENGTH_16 in two more
 * bytes, otherwise in eight.
 */
const LENGTH_7 = 125;
const LENGTH_16 = 65536;

const DEFLATE = 'permessage-deflate';

const key = Buffer.alloc(4);

/**
 * Frames for a socket (RFC 6455, 5.2). Only part of the API: programs make a frame once with `Sender.frame` and write
 * it to many sockets.
 */
class Sender {
  /**
   * @param {Pick<import('node:stream').Writable, 'cork' | 'destroyed' | 'uncork'> & { write(data: string | Uint8Array, callback?: Callback): unknown }} socket
   * @param {import('../connection/state').Extensions} [extensions]
   * @param {(key: Buffer) => void} [generateMask]
   */
  constructor(socket, extensions, generateMask) {
    this._socket = socket;
    this._extensions = extensions || {};
    this._generateMask = generateMask;
    this._isFirst = true;
    this._compress = false;
    this._bufferedBytes = 0;
    /** The first is under way; the others wait. @type {import('../base/fifo').FifoOf<Send>} */
    this._queue = new Fifo();
    /** A send has failed: nothing follows it. */
    this._isOver = false;
    /** @type {(error: Error) => void} */
    this.onerror = () => {};
  }

  /** @type {(data: string | Uint8Array, options: FrameOptions) => Array<string | Uint8Array>} */
  static frame(data, options) {
    return makeFrame(typeof data === 'string' ? Buffer.from(data) : data, options);
  }

  /** @type {(code?: number, data?: string | Uint8Array, isMasked?: boolean, callback?: Callback) => void} */
  close(code, data, isMasked, callback) {
    const reason = closeReason(code, data);
    let body = EMPTY_BUFFER;
    if (code !== undefined) {
      body = Buffer.allocUnsafe(2 + reason.length);
      body.writeUInt16BE(code, 0);
      body.set(reason, 2);
    }
    this._post(body, false, this._options(CLOSE, isMasked), callback);
  }

  /** @type {(data: unknown, isMasked?: boolean, callback?: Callback) => void} */
  ping(data, isMasked, callback) {
    this._control(PING, data, isMasked, callback);
  }

  /** @type {Sender['ping']} */
  pong(data, isMasked, callback) {
    this._control(PONG, data, isMasked, callback);
  }

  /** @type {(data: unknown, options: import('../../types/sending').SendOptions, callback?: Callback) => void} */
  send(data, options, callback) {
    const deflate = this._extensions[DEFLATE];
    const message = prepare(data);
    let opcode = 0;
    let rsv1 = false;
    if (this._isFirst) {
      opcode = options.binary ? BINARY : TEXT;
      rsv1 = !!options.compress;
      const side = deflate?._isServer ? 'server' : 'client';
      if (rsv1 && deflate?.params[`${side}_no_context_takeover`]) rsv1 = message.size >= deflate._threshold;
      this._compress = rsv1;
    }
    this._isFirst = !!options.fin;
    const frame = { ...this._options(opcode, options.mask, message.readOnly), fin: options.fin, rsv1 };
    this._post(message.data, this._compress, frame, callback);
  }

  /** @type {(list: Array<string | Uint8Array>, callback?: Callback) => void} */
  sendFrame(list, callback) {
    if (list.length === 1) {
      this._socket.write(list[0], callback);
      return;
    }
    this._socket.cork();
    this._socket.write(list[0]);
    this._socket.write(list[1], callback);
    this._socket.uncork();
  }

  /** @type {(opcode: number, data: unknown, isMasked?: boolean, callback?: Callback) => void} */
  _control(opcode, data, isMasked, callback) {
    const message = prepare(data);
    if (message.size > LENGTH_7) throw new RangeError('The data size must not be greater than 125 bytes');
    this._post(message.data, false, this._options(opcode, isMasked, message.readOnly), callback);
  }

  /** @type {(opcode: number, isMasked?: boolean, readOnly?: boolean) => FrameOptions} */
  _options(opcode, isMasked, readOnly = false) {
    return { fin: true, generateMask: this._generateMask, mask: isMasked, opcode, readOnly, rsv1: false };
  }

  /**
   * In order: at once, unless something before it is not ready.
   *
   * @type {(data: Payload, compress: boolean, frame: FrameOptions, callback?: Callback) => void}
   */
  _post(data, compress, frame, callback) {
    if (this._isOver) {
      if (callback) process.nextTick(callback, streamDestroyed());
      return;
    }
    const size = sizeOf(data);
    this._bufferedBytes += size;
    if (this._queue.push({ callback, compress, data, frame, size }) === 1) this._next();
  }

  /** Makes the sends of the queue. The first stays there while its data is read or compressed. */
  _next() {
    while (this._queue.length !== 0) {
      const first = /** @type {Send} */ (this._queue.first);
      const { callback, compress, data, frame, size } = first;
      if (isBlob(data)) return this._read(first, data);
      if (compress) return this._deflate(first, data);
      this._queue.shift();
      this._bufferedBytes -= size;
      this.sendFrame(makeFrame(data, frame), callback);
    }
  }

  /** @type {(send: Send, blob: Blob) => void} */
  _read(send, blob) {
    blob.arrayBuffer().then(
      (content) => {
        if (!this._socket.destroyed) return this._goOn(send, Buffer.from(content), send.compress, true);
        const error = new Error('The socket was closed while the blob was being read');
        // An exception in a callback must not become a rejection.
        process.nextTick(() => this._abandon(error, send));
      },
    ).catch((error) => {
      process.nextTick(() => {
        this._abandon(error, send);
        this.onerror(error);
      });
    });
  }

  /** @type {(send: Send, data: string | Uint8Array) => void} */
  _deflate(send, data) {
    this._extensions[DEFLATE].compress(data, send.frame.fin, (/** @type {unknown} */ _error, /** @type {Buffer} */ bytes) => {
      if (this._socket.destroyed) this._abandon(new Error('The socket was closed while data was being compressed'), send);
      else this._goOn(send, bytes, false, false);
    });
  }

  /** @type {(send: Send, data: Buffer, compress: boolean, readOnly: boolean) => void} */
  _goOn(send, data, compress, readOnly) {
    Object.assign(send, { compress, data, frame: { ...send.frame, readOnly } });
    this._next();
  }

  /** @type {(error: Error, send: Send) => void} */
  _abandon(error, send) {
    this._isOver = true;
    const sends = new Set([send, ...this._queue.take()]);
    callAll([...sends].flatMap(({ callback }) => callback ?? []), 0, error);
  }
}

/**
 * Text stays text if its bytes need not change.
 *
 * @type {(data: string | Uint8Array, options: FrameOptions & { maskBuffer?: Buffer }) => Array<string | Uint8Array>}
 */
function makeFrame(data, options) {
  const key = options.mask ? maskKey(options.generateMask, options.maskBuffer) : 0;
  const isText = typeof data === 'string';
  const bytes = isText && key !== 0 ? Buffer.from(data) : data;
  const length = sizeOf(bytes);
  const isMerged = key !== 0 && !isText && !!options.readOnly;

  const lengthBytes = length <= LENGTH_7 ? 0 : length < LENGTH_16 ? 2 : 8;
  const size = (options.mask ? 6 : 2) + lengthBytes;
  const target = Buffer.allocUnsafe(isMerged ? size + length : size);
  target[0] = options.opcode | (options.fin ? FIN : 0) | (options.rsv1 ? RSV1 : 0);
  target[1] = (options.mask ? MASK : 0) | (lengthBytes === 0 ? length : lengthBytes === 2 ? 126 : 127);
  if (lengthBytes === 2) target.writeUInt16BE(length, 2);
  if (lengthBytes === 8) target.writeBigUInt64BE(BigInt(length), 2);
  if (options.mask) target.writeUInt32LE(key, size - 4);
  if (length === 0) return [target];
  if (typeof bytes === 'string' || key === 0) return [target, bytes];
  if (isMerged) {
    mask(bytes, key, target, size);
    return [target];
  }
  mask(bytes, key, bytes, 0);
  return [target, bytes];
}

/**
 * `size` in bytes; `readOnly`: the memory is the caller's.
 *
 * @type {(data: unknown) => { data: Payload, size: number, readOnly: boolean }}
 */
function prepare(data) {
  if (typeof data === 'string' || isBlob(data)) return { data, size: sizeOf(data), readOnly: false };
  const bytes = toBytes(data);
  // A copy can be masked in place, but not the caller's memory.
  const readOnly = ArrayBuffer.isView(data) || data instanceof ArrayBuffer;
  const buffer = Buffer.isBuffer(bytes) ? bytes : new FastBuffer(bytes.buffer, bytes.byteOffset, bytes.length);
  return { data: buffer, size: buffer.length, readOnly };
}

/** @param {Payload} data */
function sizeOf(data) {
  if (typeof data === 'string') return Buffer.byteLength(data);
  return isUint8Array(data) ? data.length : data.size;
}

/** Unpredictable, for one frame (RFC 6455, 5.3). @type {(generate: ((key: Buffer) => void) | undefined, target?: Buffer) => number} */
function maskKey(generate, target) {
  if (generate) {
    const bytes = target || key;
    generate(bytes);
    return bytes.readUInt32LE(0);
  }
  const number = randomInt(2 ** 32);
  if (target) target.writeUInt32LE(number);
  return number;
}

/** `target` can be the source. @type {(source: Uint8Array, key: number, target: Uint8Array, offset: number) => void} */
function mask(source, key, target, offset) {
  const { length } = source;
  for (let index = 0; index < length; index++) {
    target[offset + index] = source[index] ^ (key >>> ((index & 3) << 3));
  }
}

module.exports = { Sender };

'use strict';

const { Writable } = require('node:stream');

const { convert } = require('../connection/binary-type');
const { readingOptions } = require('../connection/options');
const { negotiatedDeflate } = require('../deflate/options');
const { protocolError } = require('../base/errors');
const { addon } = require('../reactor/addon');
const { AUX_SHIFT, FLAGS_SHIFT, IN_BINARY, IN_CLOSE, IN_ERROR, IN_PING, IN_PONG, IN_TEXT, KIND_MASK } = require('../base/layout');
const { unshared } = require('../base/views');

/**
 * @typedef {NonNullable<ConstructorParameters<typeof import('../../types/tools').Receiver>[0]>}
 *   ReceiverOptions
 */

/** @typedef {import('../native/binding').Frame} Frame */

/**
 * Takes bytes and emits 'message', 'ping', 'pong' and 'conclude', or 'error' for a breach of the protocol. Only part of
 * the API: our connections do without it.
 */
class Receiver extends Writable {
  /** @param {ReceiverOptions} [options] */
  constructor(options = {}) {
    super();
    const { allowSynchronousEvents = true } = options;
    this._allowSynchronousEvents = allowSynchronousEvents;
    this._binaryType = options.binaryType || 'nodebuffer';
    this._extensions = options.extensions || {};
    const deflate = negotiatedDeflate(this);
    this._isDeflating = deflate !== undefined;
    this._reader = new (addon().FrameReader)({
      deflate,
      isServer: !!options.isServer,
      ...readingOptions(options),
    });
    this._isConcluded = false;
  }

  /** @returns {number} */
  get _totalPayloadLength() {
    return this._reader.declared();
  }

  /** @type {(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error) => void) => void} */
  _write(chunk, _encoding, callback) {
    chunk = /** @type {Buffer} */ (unshared(chunk));
    // As in ws, where inflating takes time: chunks written meanwhile are read afterwards.
    if (this._isDeflating) process.nextTick(() => this._parse(chunk, callback));
    else this._parse(chunk, callback);
  }

  /** @type {(chunk: Buffer, callback: (error?: Error) => void) => void} */
  _parse(chunk, callback) {
    if (this._isConcluded || this.destroyed) {
      callback();
      return;
    }
    let frames;
    try {
      frames = this._reader.read(chunk);
    } catch (error) {
      callback(/** @type {Error} */ (error));
      return;
    }
    const goOn = () => this._parse(chunk, callback);
    this._emitAll(frames, 0, this._reader.isBehind ? (error) => (error ? callback(error) : setImmediate(goOn)) : callback);
  }

  /** @type {(frames: Frame[], next: number, callback: (error?: Error) => void) => void} */
  _emitAll(frames, next, callback) {
    for (; next < frames.length; next++) {
      const { tag, data } = frames[next];
      const kind = tag & KIND_MASK;
      if (kind === IN_ERROR) {
        callback(protocolError((tag >>> FLAGS_SHIFT) & KIND_MASK, tag >>> AUX_SHIFT));
        return;
      }
      if (kind === IN_CLOSE) {
        this._isConcluded = true;
        this.emit('conclude', tag >>> AUX_SHIFT, data);
        this.end();
      } else if (this._allowSynchronousEvents) {
        this._emitOne(kind, data);
      } else {
        setImmediate(() => {
          this._emitOne(kind, data);
          this._emitAll(frames, next + 1, callback);
        });
        return;
      }
    }
    callback();
  }

  /** @type {(kind: number, data: Buffer) => void} */
  _emitOne(kind, data) {
    if (kind === IN_TEXT) this.emit('message', data, false);
    else if (kind === IN_BINARY) this.emit('message', convert(this._binaryType, data), true);
    else if (kind === IN_PING) this.emit('ping', data);
    else if (kind === IN_PONG) this.emit('pong', data);
  }
}

module.exports = { Receiver };

'use strict';

const { Writable } = require('node:stream');

const { negotiatedDeflate } = require('../deflate/options');
const { protocolError } = require('../errors');
const { convert } = require('../connection/receive');
const { StreamEngine } = require('../duplex/engine');
const {
  AUX_SHIFT,
  FLAGS_SHIFT,
  IN_BINARY,
  IN_CLOSE,
  IN_ERROR,
  IN_PING,
  IN_PONG,
  IN_TEXT,
  KIND_MASK,
} = require('../reactor/layout');
const { unshared } = require('../views');


/**
 * @typedef {NonNullable<ConstructorParameters<typeof import('../../types/tools').Receiver>[0]>}
 *   ReceiverOptions
 */

/** Bytes that may be inflated before other receivers have their turn. */
const INFLATED_AT_ONCE = 128 * 1024;

/**
 * Takes the bytes of a connection and emits 'message', 'ping', 'pong' and 'conclude', or an 'error'
 * of the protocol. Part of the API only: our connections do without it.
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
    this._engine = new StreamEngine(!!options.isServer, options, deflate);
    this._isConcluded = false;
  }

  /** @returns {number} */
  get _totalPayloadLength() {
    return this._engine.native.declared();
  }

  /**
   * @param {Buffer} chunk Unmasked in place
   * @param {BufferEncoding} _encoding
   * @param {(error?: Error) => void} callback
   */
  _write(chunk, _encoding, callback) {
    chunk = /** @type {Buffer} */ (unshared(chunk));
    // As in ws, where inflating takes time: chunks that are written meanwhile are parsed after it.
    if (this._isDeflating) process.nextTick(() => this._parse(chunk, callback));
    else this._parse(chunk, callback);
  }

  /** @type {(chunk: Buffer, callback: (error?: Error) => void) => void} */
  _parse(chunk, callback) {
    if (this._isConcluded || this.destroyed) {
      callback();
      return;
    }
    const records = /** @type {Array<[number, Buffer]>} */ ([]);
    let failure = /** @type {Error | undefined} */ (undefined);
    let isPaused = false;
    const take = (/** @type {number} */ tag, /** @type {Buffer} */ data) => records.push([tag, data]);
    const broke = (/** @type {Error} */ error) => {
      failure = error;
    };
    const pause = () => {
      isPaused = true;
    };
    this._engine.room = INFLATED_AT_ONCE;
    this._engine.parse(chunk, { take, takeLater: take, broke, pause });
    const goOn = () => this._parse(chunk, callback);
    if (failure !== undefined) callback(failure);
    else if (!isPaused) this._emitAll(records, 0, callback);
    else this._emitAll(records, 0, (error) => (error ? callback(error) : setImmediate(goOn)));
  }

  /** @type {(error: Error | null, callback: (error?: Error | null) => void) => void} */
  _destroy(error, callback) {
    this._engine.dispose();
    callback(error);
  }

  /** @type {(records: Array<[number, Buffer]>, next: number, callback: (error?: Error) => void) => void} */
  _emitAll(records, next, callback) {
    for (; next < records.length; next++) {
      const [tag, data] = records[next];
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
          this._emitAll(records, next + 1, callback);
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

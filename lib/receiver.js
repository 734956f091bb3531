'use strict';

const { Writable } = require('node:stream');

const { IN_BINARY, IN_CLOSE, IN_ERROR, IN_PING, IN_PONG, IN_TEXT } = require('./constants');
const { protocolError } = require('./errors');
const { convert } = require('./inbound');
const { createEngine, parse } = require('./stream-engine');

/**
 * Takes the bytes of a connection and emits 'message', 'ping', 'pong' and 'conclude'; what breaks the protocol is an
 * 'error'. Connections of this package do without it; it is part of the API.
 */
class Receiver extends Writable {
  /**
   * @param {any} [options] isServer, binaryType, maxPayload, maxFragments, skipUTF8Validation, allowSynchronousEvents
   */
  constructor(options = {}) {
    super();
    const { allowSynchronousEvents = true } = options;
    this._allowSynchronousEvents = allowSynchronousEvents;
    this._binaryType = options.binaryType || 'nodebuffer';
    this._engine = createEngine(!!options.isServer, options);
    this._isConcluded = false;
  }

  /**
   * @param {Buffer} chunk Unmasked in place
   * @param {BufferEncoding} _encoding
   * @param {(error?: Error) => void} callback
   */
  _write(chunk, _encoding, callback) {
    if (this._isConcluded) {
      callback();
      return;
    }
    const records = /** @type {Array<[number, Buffer]>} */ ([]);
    let failure = /** @type {Error | undefined} */ (undefined);
    const take = (/** @type {number} */ tag, /** @type {Buffer} */ data) => records.push([tag, data]);
    const broke = (/** @type {Error} */ error) => {
      failure = error;
    };
    parse(this._engine, chunk, { take, takeLater: take, broke });
    if (failure === undefined) this._emitAll(records, 0, callback);
    else callback(failure);
  }

  /**
   * @param {Array<[number, Buffer]>} records
   * @param {number} next Index of the first to emit
   * @param {(error?: Error) => void} callback
   */
  _emitAll(records, next, callback) {
    for (; next < records.length; next++) {
      const [tag, data] = records[next];
      const kind = tag & 0xff;
      if (kind === IN_ERROR) {
        callback(protocolError((tag >>> 8) & 0xff, tag >>> 16));
        return;
      }
      if (kind === IN_CLOSE) {
        this._isConcluded = true;
        this.emit('conclude', tag >>> 16, data);
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

  /**
   * @param {number} kind
   * @param {Buffer} data
   */
  _emitOne(kind, data) {
    if (kind === IN_TEXT) this.emit('message', data, false);
    else if (kind === IN_BINARY) this.emit('message', convert(this._binaryType, data), true);
    else if (kind === IN_PING) this.emit('ping', data);
    else if (kind === IN_PONG) this.emit('pong', data);
  }
}

module.exports = { Receiver };

'use strict';

const { Duplex } = require('node:stream');

const { streamOf } = require('./connection/state');

/** @import { DuplexOptions } from 'node:stream' */

/** A WebSocket of this package or another. @typedef {import('../index').WebSocket & { _socket: Duplex | null, _bits?: number }} AnyWebSocket */

/** @type {(ws: AnyWebSocket, options?: DuplexOptions) => Duplex} */
function createWebSocketStream(ws, options) {
  return new WebSocketStream(ws, options);
}

/** Written chunks are sent as messages; messages are read as chunks. */
class WebSocketStream extends Duplex {
  /** @param {AnyWebSocket} ws @param {DuplexOptions | undefined} options */
  constructor(ws, options) {
    super({ ...options, autoDestroy: false, emitClose: false, objectMode: false, writableObjectMode: false });
    this._ws = ws;
    /** Whether `destroy()` terminates the connection. After a protocol error it closes by itself. */
    this._terminates = true;
    // As in ws, a program that replaces these can call the originals without `this`.
    this._final = this._final.bind(this);
    this._read = this._read.bind(this);
    ws.on('message', (/** @type {Buffer} */ data, /** @type {boolean} */ isBinary) => {
      const chunk = !isBinary && this.readableObjectMode ? data.toString() : data;
      if (!this.push(chunk)) ws.pause();
    });
    ws.once('error', (/** @type {Error} */ error) => {
      if (this.destroyed) return;
      this._terminates = false;
      this.destroy(error);
    });
    ws.once('close', () => {
      if (!this.destroyed) this.push(null);
    });
    this.on('end', () => {
      if (!this.destroyed && this.writableFinished) this.destroy();
    });
    this.on('error', onError);
  }

  _read() {
    if (this._ws.isPaused) this._ws.resume();
  }

  /** @type {(chunk: any, encoding: BufferEncoding, callback: (error?: Error) => void) => void} */
  _write(chunk, encoding, callback) {
    const ws = this._ws;
    if (ws.readyState === ws.CONNECTING) ws.once('open', () => this._write(chunk, encoding, callback));
    else ws.send(chunk, callback);
  }

  /** Calls back when everything is sent and our side has ended. @type {(callback: (error?: Error) => void) => void} */
  _final(callback) {
    const ws = this._ws;
    if (ws.readyState === ws.CONNECTING) {
      ws.once('open', () => this._final(callback));
      return;
    }
    const socket = ws._socket;
    // The handshake failed; 'error' follows.
    if (socket === null) return;
    // The reactor ends its sockets itself, which shows only in 'close' of the WebSocket.
    const isStream = ws._bits === undefined || streamOf(/** @type {any} */ (ws)) !== null;
    if ((isStream && socket.writableFinished) || ws.readyState === ws.CLOSED) {
      callback();
      if (this.readableEnded) this.destroy();
      return;
    }
    this.once('finish', () => {
      if (this.readableEnded) this.destroy();
    });
    let isCalled = false;
    const done = () => {
      if (!isCalled) callback();
      isCalled = true;
    };
    // 'end' follows, when the WebSocket emits 'close'. A socket that fails does not finish.
    if (isStream) socket.once('finish', done);
    // First of the listeners, so that 'finish' comes before 'end'.
    ws.prependOnceListener('close', done);
    ws.close();
  }

  /** @type {(error: Error | null, callback: (error: Error | null) => void) => void} */
  _destroy(error, callback) {
    const ws = this._ws;
    if (ws.readyState === ws.CLOSED) {
      callback(error);
      process.nextTick(emitClose, this);
      return;
    }
    let isCalled = false;
    ws.once('error', (/** @type {Error} */ other) => {
      isCalled = true;
      callback(other);
    });
    ws.once('close', () => {
      if (!isCalled) callback(error);
      process.nextTick(emitClose, this);
    });
    if (this._terminates) ws.terminate();
  }
}

/** @param {Duplex} stream */
function emitClose(stream) {
  stream.emit('close');
}

/** @this {WebSocketStream} @param {Error} error */
function onError(error) {
  this.removeListener('error', onError);
  this.destroy();
  // Without another listener, the error stays an uncaught exception.
  if (this.listenerCount('error') === 0) this.emit('error', error);
}

module.exports = { createWebSocketStream };

'use strict';

const EventEmitter = require('node:events');
const net = require('node:net');
const { Duplex } = require('node:stream');
const { isUint8Array } = require('node:util').types;

const { GONE, TERMINATED } = require('../base/bits');
const { EMPTY_BUFFER } = require('../base/constants');
const { AUX_SHIFT, OUT_END, OUT_FLAG_ON, OUT_FLAG_RESET, OUT_KEEP_ALIVE, OUT_NO_DELAY, OUT_TERMINATE, OUT_WRITE } = require('../base/layout');
const { formatAddress } = require('../connection/address');
const { callAll, push } = require('../connection/post');
const { hold, release } = require('../reactor/lifetime');
const outbox = require('../reactor/outbox');
const { state } = require('../reactor/link');
const { IdleTimer } = require('./idle-timer');

/** @import { Connection, SentCallback, WebSocket } from '../connection/state' */

/** Most seconds that a record can carry. */
const LONGEST_KEEP_ALIVE = (1 << AUX_SHIFT) - 1;

/** Bytes of a 101 without a subprotocol and extensions. */
const ANSWER_LENGTH = 129;

/** Own properties that a net.Socket has and a stream has not, and fields of Socket until something is to say. */
const INITIAL = {
  allowHalfOpen: true,
  connecting: false,
  parser: null,
  server: null,
  timeout: 0,
  _host: null,

  /** Bytes of the 101 that JavaScript has written, and of what left before it; null if the reactor wrote it, or nobody yet. */
  _answered: null,
  /** Bytes that had come before the reactor read. */
  _early: 0,
  /** Bytes that the reactor has read and the kernel has taken from it, as last seen. */
  _given: 0,
  _taken: 0,
  /** Addresses of both ends, once they were looked at. */
  _peer: null,
  _here: null,
  /** Writes that 'drain' waits for. */
  _drains: 0,
  /** The timer of `setTimeout()`. */
  _idle: null,
  _unreferenced: false,
  _ended: false,
  /** All has been written, and the end of this side; callbacks of `end()` wait for that. */
  _finished: false,
  _enders: null,
  _peerEnded: false,
  _destroyed: false,
  _closed: false,
};

/**
 * A net.Socket by its prototype, and an emitter by its memory: its state as a stream, which takes
 * more than a WebSocket, is made on first use, for example by `pipe()`.
 *
 * @this {unknown}
 */
function LazySocket() {
  EventEmitter.call(this);
}
LazySocket.prototype = Object.create(net.Socket.prototype, { constructor: { value: LazySocket } });
Object.assign(LazySocket.prototype, INITIAL);

/** Its state as a stream. */
const STATES = ['_readableState', '_writableState'];

for (const name of STATES) {
  Object.defineProperty(LazySocket.prototype, name, {
    /** @this {any} */
    get() {
      if (this._owner === undefined) return undefined;
      makeStream(this);
      return this[name];
    },
    /** @this {unknown} @param {unknown} value */
    set(value) {
      Object.defineProperty(this, name, { configurable: true, enumerable: false, value, writable: true });
    },
  });
}

// The methods of a stream would make its state. A listener for 'data' would resume the stream, and the stream the WebSocket.
for (const name of ['addListener', 'off', 'on', 'removeListener', 'removeAllListeners', 'emit']) {
  const value = /** @type {Record<string, unknown>} */ (/** @type {unknown} */ (EventEmitter.prototype))[name];
  Object.defineProperty(LazySocket.prototype, name, { configurable: true, value, writable: true });
}

/** @type {(socket: any) => void} */
function makeStream(socket) {
  const { _readableState: readable, _writableState: writable } = /** @type {any} */ (new Duplex({ autoDestroy: false, emitClose: false }));
  socket._readableState = readable;
  socket._writableState = writable;
  readable.flowing = true;
  Object.defineProperties(writable, {
    ended: { get: () => socket._ended },
    ending: { get: () => socket._ended },
    finished: { get: () => socket._finished },
    length: { get: () => socket.writableLength },
  });
  Object.defineProperties(readable, {
    ended: { get: () => socket._peerEnded },
    endEmitted: { get: () => socket._peerEnded },
  });
}

/**
 * `ws._socket` and `req.socket` of a connection whose socket the reactor has. The reactor reads, so there is no 'data'.
 * A net.Socket that the reactor has adopted becomes one: see `become`.
 */
class Socket extends /** @type {new () => any} */ (/** @type {unknown} */ (LazySocket)) {
  /** @param {Connection} owner The WebSocket, or the handshake before it */
  constructor(owner) {
    super();
    /** @type {Connection} */
    this._owner = owner;
    this._closed = (owner._bits & GONE) !== 0;
  }

  get destroyed() {
    return this._destroyed || (this._owner._bits & (GONE | TERMINATED)) !== 0;
  }

  get readable() {
    return !this._peerEnded && !this.destroyed;
  }

  get writable() {
    return !this._ended && !this.destroyed;
  }

  get closed() {
    return this._closed;
  }

  get pending() {
    return false;
  }

  get remoteAddress() {
    return this._remote().address;
  }

  get remotePort() {
    return this._remote().port;
  }

  get remoteFamily() {
    return this._remote().family;
  }

  get localAddress() {
    return this._local().address;
  }

  get localPort() {
    return this._local().port;
  }

  get localFamily() {
    return this._local().family;
  }

  address() {
    return { ...this._local() };
  }

  /** The address of the peer is shown after the end if it was shown before, as by a net.Socket. @returns {Partial<net.AddressInfo>} */
  _remote() {
    if (!this.destroyed) this._peer ??= addressOf(this._owner._remote, this._owner._remotePort);
    return this._peer ?? {};
  }

  /** @returns {Partial<net.AddressInfo>} */
  _local() {
    return this.destroyed ? {} : (this._here ??= addressOf(this._owner._local, this._owner._localPort));
  }

  // The counters of the reactor do not outlive the connection.
  get bytesRead() {
    const { _generation: generation, _slot: slot } = this._owner;
    this._given = Math.max(this._given, state.native.bytesGiven(slot, generation));
    return this._early + this._given;
  }

  get bytesWritten() {
    const { _common: common, _generation: generation, _slot: slot } = /** @type {Partial<WebSocket> & Connection} */ (this._owner);
    this._taken = Math.max(this._taken, state.native.bytesTaken(slot, generation));
    return (this._answered ?? (common === undefined ? 0 : answerLength(common.shared))) + this._taken;
  }

  get bufferSize() {
    return this.writableLength;
  }

  get writableLength() {
    return this.destroyed ? 0 : this._owner.bufferedAmount;
  }

  get writableNeedDrain() {
    return this.writable && this._drains !== 0;
  }

  get writableEnded() {
    return this._ended;
  }

  get writableFinished() {
    return this._finished;
  }

  // The reactor reads: pushed bytes are dropped.
  push() {
    return false;
  }

  unshift() {}

  setEncoding() {
    return this;
  }

  pause() {
    this._owner.pause();
    return this;
  }

  resume() {
    this._owner.resume();
    return this;
  }

  isPaused() {
    return this._owner.isPaused;
  }

  // Frames and raw bytes leave together at the end of the tick anyway.
  cork() {}

  uncork() {}

  /**
   * Writes bytes as they are, without a frame, before the next send of the WebSocket. Returns whether there is room for
   * more; if not, 'drain' follows when all has left.
   *
   * @type {(data: unknown, encoding?: unknown, callback?: unknown) => boolean}
   */
  write(data, encoding, callback) {
    if (typeof encoding === 'function') [encoding, callback] = [undefined, encoding];
    if (!this.writable) {
      const error = Object.assign(new Error('write after end'), { code: 'ERR_STREAM_WRITE_AFTER_END' });
      if (typeof callback === 'function') process.nextTick(callback, error);
      return false;
    }
    const bytes = toBytes(data, encoding);
    const isRoomy = this.writableLength + bytes.length < this.writableHighWaterMark;
    if (!isRoomy) this._drains++;
    const wantsCall = !isRoomy || typeof callback === 'function';
    const length = push(this._owner, OUT_WRITE, bytes, wantsCall ? written.bind(null, this, !isRoomy, callback) : undefined);
    this._owner._accepted += length;
    return isRoomy;
  }

  /**
   * Half-closes the connection once everything is written. The callback may come in any place, as in Node.
   *
   * @type {(data?: unknown, encoding?: unknown, callback?: unknown) => this}
   */
  end(data, encoding, callback) {
    if (typeof data === 'function') [data, encoding, callback] = [undefined, undefined, data];
    else if (typeof encoding === 'function') [encoding, callback] = [undefined, encoding];
    if (data !== undefined && data !== null) this.write(data, encoding);
    if (typeof callback === 'function') whenFinished(this, /** @type {SentCallback} */ (callback));
    if (this.writable) {
      this._ended = true;
      push(this._owner, OUT_END, EMPTY_BUFFER, (error) => finished(this, error));
    }
    return this;
  }

  /** Closes the connection at once. @type {(error?: Error) => this} */
  destroy(error) {
    if (this.destroyed) return this;
    this._destroyed = true;
    this._owner._destroy();
    if (error && this.listenerCount('error') !== 0) process.nextTick(() => this.emit('error', error));
    return this;
  }

  /** Closes the connection with a reset. */
  resetAndDestroy() {
    if (!this.destroyed) this._command(OUT_TERMINATE | OUT_FLAG_RESET);
    return this.destroy();
  }

  /** @param {unknown} [on] */
  setNoDelay(on) {
    this._command(OUT_NO_DELAY | ((on === undefined || on ? 1 : 0) << AUX_SHIFT));
    return this;
  }

  /** @param {unknown} [on] @param {unknown} [milliseconds] */
  setKeepAlive(on, milliseconds) {
    // 0: as the system has it.
    const seconds = Math.min(Math.max(Math.trunc(Number(milliseconds) / 1000) || 0, 0), LONGEST_KEEP_ALIVE);
    this._command(OUT_KEEP_ALIVE | (on ? OUT_FLAG_ON : 0) | (seconds << AUX_SHIFT));
    return this;
  }

  /** @param {number} tag */
  _command(tag) {
    outbox.pushEmpty(this._owner._slot, this._owner._generation, tag);
  }

  /** @param {number} milliseconds @param {() => void} [callback] */
  setTimeout(milliseconds, callback) {
    this._idle ??= new IdleTimer(this);
    this._idle.set(milliseconds);
    this.timeout = milliseconds;
    if (callback !== undefined) {
      if (milliseconds === 0) this.removeListener('timeout', callback);
      else this.once('timeout', callback);
    }
    return this;
  }

  ref() {
    return refer(this, true);
  }

  unref() {
    return refer(this, false);
  }

  /** The peer sends no more. The owner calls it. */
  _onEnd() {
    this._peerEnded = true;
    this.emit('end');
  }

  /** The connection has closed. The owner calls it. */
  _onClosed() {
    if (this._closed) return;
    // The counters stay as they are now.
    void [this.bytesRead, this.bytesWritten];
    this._closed = true;
    this._destroyed = true;
    this._idle?.set(0);
    if (!this._server) {
      this.emit('close', false);
      return;
    }
    // The server of Node that accepted it counts it no more. 'close' is emitted when the handle is closed.
    this._handle = { close: (/** @type {() => void} */ done) => process.nextTick(done) };
    super._destroy(null, () => {});
  }
}

/**
 * An IPv4 address is a number, an IPv6 address a string of 16 bytes, an unknown one ''.
 *
 * @type {(address: number | string, port: number) => Partial<net.AddressInfo>}
 */
function addressOf(address, port) {
  if (address === '') return {};
  return { address: formatAddress(address), family: typeof address === 'number' ? 'IPv4' : 'IPv6', port };
}

/** Bytes of the 101 that the reactor has written. @type {(common: { extensions: string, protocol: string }) => number} */
function answerLength({ extensions, protocol }) {
  const line = (/** @type {string} */ name, /** @type {string} */ value) => (value === '' ? 0 : `${name}: ${value}\r\n`.length);
  return ANSWER_LENGTH + line('Sec-WebSocket-Protocol', protocol) + line('Sec-WebSocket-Extensions', extensions);
}

/** @type {(socket: Socket, isDrain: boolean, callback: unknown, error?: Error | null) => void} */
function written(socket, isDrain, callback, error) {
  if (isDrain) socket._drains--;
  if (typeof callback === 'function') callback(error);
  if (isDrain && !error && socket._drains === 0 && socket.writable) socket.emit('drain');
}

/** @type {(socket: Socket, callback: SentCallback) => void} */
function whenFinished(socket, callback) {
  if (socket._finished || socket.destroyed) {
    const [code, what] = socket._finished ? ['ERR_STREAM_ALREADY_FINISHED', 'finished'] : ['ERR_STREAM_DESTROYED', 'destroyed'];
    process.nextTick(callback, Object.assign(new Error(`Cannot call end after a stream was ${what}`), { code }));
  } else {
    (socket._enders ??= []).push(callback);
  }
}

/** This side has ended, or never will. @type {(socket: Socket, error: Error | null) => void} */
function finished(socket, error) {
  const callbacks = socket._enders ?? [];
  socket._finished = error === null;
  socket._enders = null;
  try {
    callAll(callbacks, 0, error ?? undefined);
  } finally {
    if (error === null) socket.emit('finish');
  }
}

/**
 * @type {(data: unknown, encoding: unknown) => Uint8Array}
 * @throws {TypeError} ERR_INVALID_ARG_TYPE, as of a stream of Node
 */
function toBytes(data, encoding) {
  if (typeof data === 'string') return Buffer.from(data, /** @type {BufferEncoding} */ (encoding));
  if (isUint8Array(data)) return data;
  if (ArrayBuffer.isView(data)) return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const error = new TypeError('The "chunk" argument must be of type string or an instance of Buffer, TypedArray, or DataView.');
  throw Object.assign(error, { code: 'ERR_INVALID_ARG_TYPE' });
}

/** Lets the connection keep the process alive, or not. @type {(socket: Socket, does: boolean) => Socket} */
function refer(socket, does) {
  if (socket._unreferenced !== does || socket._closed) return socket;
  socket._unreferenced = !does;
  if (does) hold();
  else release();
  return socket;
}

module.exports = { STATES, Socket };

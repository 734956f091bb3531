'use strict';

const EventEmitter = require('node:events');
const net = require('node:net');
const { Duplex, getDefaultHighWaterMark } = require('node:stream');
const { isUint8Array } = require('node:util').types;

const { GONE, PAUSED, TERMINATED } = require('../base/bits');
const { EMPTY_BUFFER } = require('../base/constants');
const { AUX_SHIFT, OUT_END, OUT_FLAG_ON, OUT_FLAG_RESET, OUT_KEEP_ALIVE, OUT_NO_DELAY, OUT_TERMINATE, OUT_WRITE } = require('../base/layout');
const { watchListeners } = require('../base/emitter');
const { formatAddress } = require('../connection/address');
const { callAll, push } = require('../connection/enqueue');
const { refer } = require('../reactor/lifetime');
const outbox = require('../reactor/outbox');
const { state } = require('../reactor/reactors');
const { IdleTimer } = require('./idle-timer');

/** @import { Connection, SentCallback, WebSocket } from '../connection/state' */

/** Seconds that a record can carry. */
const MAX_KEEP_ALIVE = (1 << AUX_SHIFT) - 1;

/** Bytes of a 101 without a subprotocol and extensions. */
const ANSWER_LENGTH = 129;

/** Own properties of a net.Socket that a stream lacks, and initial fields of Socket. */
const INITIAL = {
  allowHalfOpen: true,
  connecting: false,
  parser: null,
  server: null,
  timeout: 0,
  _host: null,
  _parent: null,

  /** Bytes that JavaScript wrote up to the end of a 101; null if the reactor wrote it, and before. */
  _answered: null,
  /** Bytes from before the reactor read. */
  _early: 0,
  /** Bytes that the reactor has read, and that the kernel has taken, as last seen. */
  _lastRead: 0,
  _lastWritten: 0,
  /** Addresses of both ends, once read. */
  _peer: null,
  _here: null,
  /** Writes that 'drain' waits for, with an empty one after frames. */
  _drains: 0,
  /** The timer of `setTimeout()`. */
  _idle: null,
  _unreferenced: false,
  _ended: false,
  /** Everything is written, and the end of this side; callbacks of `end()` wait for that. */
  _finished: false,
  _enders: null,
  _peerEnded: false,
  _destroyed: false,
  _closed: false,
};

/**
 * A net.Socket by its prototype, an emitter by its memory. Its state as a stream, which takes more memory than a
 * WebSocket, is made on first use, such as `pipe()`.
 *
 * @this {unknown}
 */
function LazySocket() {
  EventEmitter.call(this);
}
LazySocket.prototype = Object.create(net.Socket.prototype, { constructor: { value: LazySocket } });
Object.assign(LazySocket.prototype, INITIAL);

/** The state of a stream. */
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

// A stream's methods would make its state. A listener for 'data' would resume the stream, and thereby the WebSocket.
for (const name of ['off', 'removeListener', 'removeAllListeners', 'emit']) {
  Object.defineProperty(LazySocket.prototype, name, { configurable: true, value: Reflect.get(EventEmitter.prototype, name), writable: true });
}
watchListeners(LazySocket.prototype, (socket, event) => {
  if (event === 'drain') socket._awaitFrames();
});

/** @type {(socket: any) => void} */
function makeStream(socket) {
  /** @type {any} */
  const { _readableState: readable, _writableState: writable } = new Duplex({ autoDestroy: false, emitClose: false });
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

/** @type {new () => any} */
const Base = /** @type {any} */ (LazySocket);

/**
 * `ws._socket` and `req.socket` if the reactor has the socket. The reactor reads, so there is no 'data'. `become` turns
 * an adopted net.Socket into one.
 */
class Socket extends Base {
  /** @param {Connection} owner */
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

  address() {
    return { ...this._local() };
  }

  /** As by a net.Socket, shown after the end if it was shown before. @returns {Partial<net.AddressInfo>} */
  _remote() {
    if (!this.destroyed) this._peer ??= addressOf(this._owner._remote, this._owner._remotePort);
    return this._peer ?? {};
  }

  /** @returns {Partial<net.AddressInfo>} */
  _local() {
    return this.destroyed ? {} : (this._here ??= addressOf(this._owner._local, this._owner._localPort));
  }

  // The reactor's counters do not outlive the connection.
  get bytesRead() {
    const { _generation: generation, _slot: slot } = this._owner;
    this._lastRead = Math.max(this._lastRead, state.native.bytesRead(slot, generation));
    return this._early + this._lastRead;
  }

  get bytesWritten() {
    /** @type {any} */
    const { _profile: profile, _generation: generation, _readyState: readyState, _slot: slot } = this._owner;
    this._lastWritten = Math.max(this._lastWritten, state.native.bytesWritten(slot, generation));
    return (this._answered ?? (readyState === undefined ? 0 : answerLength(profile.shared))) + this._lastWritten;
  }

  get bufferSize() {
    return this.writableLength;
  }

  get writableLength() {
    return this.destroyed ? 0 : this._owner.bufferedAmount;
  }

  get writableHighWaterMark() {
    return getDefaultHighWaterMark(false);
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

  // The reactor reads, so pushed bytes are dropped.
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
    return (this._owner._bits & PAUSED) !== 0;
  }

  // Frames and raw bytes leave together at the end of the tick anyway.
  cork() {}

  uncork() {}

  /**
   * Writes bytes without a frame, before the next send of the WebSocket. Returns false if there is no room for more;
   * 'drain' follows when everything has left.
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

  /** A listener waits for 'drain', so the next frame is checked. */
  _awaitFrames() {
    if (this.listenerCount('drain') !== 0) this._owner._ensureExtra().roomUntil = 0;
  }

  /**
   * `waiting` bytes wait after a frame. 'drain' follows if it would for a net.Socket to which the frame is written.
   * Returns after how many more bytes it wants to be called again.
   *
   * @type {(waiting: number) => number}
   */
  _onFrames(waiting) {
    if (this._drains !== 0 || !this.writable || this.listenerCount('drain') === 0) return Infinity;
    const room = this.writableHighWaterMark - waiting;
    if (room > 0) return room;
    this._drains++;
    push(this._owner, OUT_WRITE, EMPTY_BUFFER, (error) => framesLeft(this, error));
    return Infinity;
  }

  /**
   * Half-closes the connection after everything is written. As in Node, the callback can be in any place.
   *
   * @type {(data?: unknown, encoding?: unknown, callback?: unknown) => this}
   */
  end(data, encoding, callback) {
    if (typeof data === 'function') [data, encoding, callback] = [undefined, undefined, data];
    else if (typeof encoding === 'function') [encoding, callback] = [undefined, encoding];
    if (data !== undefined && data !== null) this.write(data, encoding);
    if (typeof callback === 'function') whenFinished(this, callback);
    if (this.writable) {
      this._ended = true;
      push(this._owner, OUT_END, EMPTY_BUFFER, (error) => finished(this, error));
    }
    return this;
  }

  /** @type {(error?: Error) => this} */
  destroy(error) {
    if (this.destroyed) return this;
    this._destroyed = true;
    this._owner._destroy();
    if (error && this.listenerCount('error') !== 0) process.nextTick(() => this.emit('error', error));
    return this;
  }

  resetAndDestroy() {
    if (!this.destroyed) this._command(OUT_TERMINATE | OUT_FLAG_RESET);
    return this.destroy();
  }

  /** @param {unknown} [on] */
  setNoDelay(on) {
    this._command(noDelayTag(on));
    return this;
  }

  /** @param {unknown} [on] @param {unknown} [milliseconds] */
  setKeepAlive(on, milliseconds) {
    this._command(keepAliveTag(on, milliseconds));
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
    if (!this._closed) refer(this, true);
    return this;
  }

  unref() {
    if (!this._closed) refer(this, false);
    return this;
  }

  /** Again if the socket was an upgrade of the process before. */
  _onEnd() {
    if (this._peerEnded) return;
    this._peerEnded = true;
    this.emit('end');
  }

  _onClosed() {
    if (this._closed) return;
    // `bytesRead` and `bytesWritten` keep their last values.
    void [this.bytesRead, this.bytesWritten];
    this._closed = true;
    this._destroyed = true;
    this._idle?.set(0);
    if (!this._server) {
      this.emit('close', false);
      return;
    }
    // Node's server stops counting this connection. 'close' comes when the handle is closed.
    this._handle = { close: (/** @type {() => void} */ done) => process.nextTick(done) };
    super._destroy(null, () => {});
  }
}

for (const end of ['remote', 'local']) {
  for (const part of ['Address', 'Family', 'Port']) {
    /** @type {PropertyDescriptor & ThisType<any>} */
    const property = { configurable: true, get() { return this[`_${end}`]()[part.toLowerCase()]; } };
    Object.defineProperty(Socket.prototype, `${end}${part}`, property);
  }
}

/** The command of `setNoDelay()`. @param {unknown} on */
function noDelayTag(on) {
  return OUT_NO_DELAY | ((on === undefined || on ? 1 : 0) << AUX_SHIFT);
}

/** The command of `setKeepAlive()`. @type {(on: unknown, milliseconds: unknown) => number} */
function keepAliveTag(on, milliseconds) {
  // 0: the default of the system.
  const seconds = Math.min(Math.max(Math.trunc(Number(milliseconds) / 1000) || 0, 0), MAX_KEEP_ALIVE);
  return OUT_KEEP_ALIVE | (on ? OUT_FLAG_ON : 0) | (seconds << AUX_SHIFT);
}

/** As a connection keeps them. @type {(address: number | string, port: number) => Partial<net.AddressInfo>} */
function addressOf(address, port) {
  if (address === '') return {};
  return { address: formatAddress(address), family: typeof address === 'number' ? 'IPv4' : 'IPv6', port };
}

/** Bytes of the 101 that the reactor wrote. @type {(profile: { extensions: string, protocol: string }) => number} */
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

/** A frame and all bytes before it have left. @type {(socket: Socket, error: Error | null) => void} */
function framesLeft(socket, error) {
  socket._drains--;
  if (error !== null || socket._drains !== 0 || !socket.writable) return;
  const { writableLength: waiting } = socket;
  if (waiting !== 0) return void socket._onFrames(Math.max(waiting, socket.writableHighWaterMark));
  socket._awaitFrames();
  socket.emit('drain');
}

/** @type {(socket: Socket, callback: any) => void} */
function whenFinished(socket, callback) {
  if (socket._finished || socket.destroyed) {
    const error = socket._finished
      ? Object.assign(new Error('Cannot call end after a stream was finished'), { code: 'ERR_STREAM_ALREADY_FINISHED' })
      : Object.assign(new Error('Cannot call end after a stream was destroyed'), { code: 'ERR_STREAM_DESTROYED' });
    process.nextTick(callback, error);
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

/** Throws as a stream of Node does. @type {(data: unknown, encoding: any) => Uint8Array} */
function toBytes(data, encoding) {
  if (typeof data === 'string') return Buffer.from(data, encoding);
  if (isUint8Array(data)) return data;
  if (ArrayBuffer.isView(data)) return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const error = new TypeError('The "chunk" argument must be of type string or an instance of Buffer, TypedArray, or DataView.');
  throw Object.assign(error, { code: 'ERR_INVALID_ARG_TYPE' });
}

/** Fields of a Socket itself. */
const STATE = ['_owner', ...Object.keys(INITIAL)];

module.exports = { STATE, Socket, addressOf, keepAliveTag, noDelayTag };

'use strict';

const EventEmitter = require('node:events');
const { isUint8Array } = require('node:util').types;

const { push } = require('../connection/post');
const { AUX_SHIFT, OUT_FLAG_ON, OUT_FLAG_RESET, OUT_KEEP_ALIVE, OUT_NO_DELAY, OUT_TERMINATE, OUT_WRITE } = require('../base/layout');
const { hold, release } = require('../reactor/lifetime');
const outbox = require('../reactor/outbox');
const { state } = require('../reactor/table');

/** @import { Connection, SentCallback } from '../connection/state' */

/** A silent socket is reported too late by at most this part of its timeout. */
const IDLE_GRAIN = 1 / 8;

/** Most seconds that a record can carry. */
const LONGEST_KEEP_ALIVE = (1 << AUX_SHIFT) - 1;

/**
 * What the methods use of the socket.
 *
 * @typedef {object} Fields
 * @property {Connection} _owner The WebSocket, or the handshake before it
 * @property {number} [_drains] Writes that 'drain' waits for
 * @property {number} [_given] See `_bytesGiven`
 * @property {number} [_taken]
 * @property {IdleTimer | null} [_idle] The timer of `setTimeout()`
 * @property {boolean} _unreferenced Set by `unref()`
 * @property {() => void} [_lost] Called when written bytes are lost
 * @property {(data: unknown, encoding: unknown, callback: unknown) => boolean} _refuse Called for a
 *   write that comes too late
 * @property {boolean} closed
 * @property {boolean} destroyed
 * @property {number} [timeout]
 * @property {boolean} writable
 * @property {number} writableHighWaterMark
 * @property {number} bytesRead
 * @property {number} bytesWritten
 * @property {() => unknown} destroy
 */

/** @typedef {EventEmitter & Fields} Based */

/**
 * Adds what both kinds of socket share. `write()` hands its bytes on at once, before the next send
 * of the WebSocket. Nothing is read through the socket.
 *
 * @type {(Base: unknown) => any}
 */
function withReactor(Base) {
  class ReactorSocket extends /** @type {new () => Based} */ (Base) {
    /** @type {(event: string | symbol, listener: (...args: any[]) => void) => this} */
    on(event, listener) {
      // A listener for 'data' would resume the stream, and the stream the WebSocket.
      if (event === 'data') EventEmitter.prototype.on.call(this, event, listener);
      else super.on(event, listener);
      return this;
    }

    // The reactor reads: pushed bytes are dropped.
    push() {
      return false;
    }

    unshift() {}

    /**
     * Writes bytes as they are, without a frame. Returns whether there is room for more; if not, 'drain' follows when
     * all has left.
     *
     * @type {(data: string | Uint8Array, encoding?: BufferEncoding | Function, callback?: unknown) => boolean}
     */
    write(data, encoding, callback) {
      if (typeof encoding === 'function') {
        callback = encoding;
        encoding = undefined;
      }
      if (!this.writable) return this._refuse(data, encoding, callback);
      const bytes = toBytes(data, encoding);
      const isRoomy = this.writableLength + bytes.length < this.writableHighWaterMark;
      if (!isRoomy) this._drains = (this._drains ?? 0) + 1;
      const wantsCall = !isRoomy || typeof callback === 'function';
      writeRaw(this._owner, bytes, undefined, wantsCall ? written.bind(null, this, !isRoomy, callback) : undefined);
      return isRoomy;
    }

    get writableNeedDrain() {
      return this.writable && (this._drains ?? 0) !== 0;
    }

    get bufferSize() {
      return this.writableLength;
    }

    get writableLength() {
      return this.destroyed ? 0 : this._owner.bufferedAmount;
    }

    /** Bytes that the reactor has read, as last seen: its counters do not outlive the connection. */
    _bytesGiven() {
      const { _slot: slot, _generation: generation } = this._owner;
      return (this._given = Math.max(this._given ?? 0, state.native.bytesGiven(slot, generation)));
    }

    /** Bytes that the kernel has taken from the reactor. */
    _bytesTaken() {
      const { _slot: slot, _generation: generation } = this._owner;
      return (this._taken = Math.max(this._taken ?? 0, state.native.bytesTaken(slot, generation)));
    }

    /** Closes the connection with a reset. */
    resetAndDestroy() {
      if (!this.destroyed) this._command(OUT_TERMINATE | OUT_FLAG_RESET);
      return this.destroy();
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
      checkTimeout(milliseconds);
      this.timeout = milliseconds;
      this._idle ??= new IdleTimer(this);
      this._idle.set(milliseconds);
      if (callback !== undefined) {
        if (milliseconds === 0) this.removeListener('timeout', callback);
        else this.once('timeout', callback);
      }
      return this;
    }

    ref() {
      setReferenced(this, true);
      return this;
    }

    unref() {
      setReferenced(this, false);
      return this;
    }

    // Frames and raw bytes leave together at the end of the tick anyway.
    cork() {}

    uncork() {}
  }
  return ReactorSocket;
}

/** @type {(socket: Based, isDrain: boolean, callback: unknown, error?: Error | null) => void} */
function written(socket, isDrain, callback, error) {
  if (error) socket._lost?.();
  if (isDrain) /** @type {{ _drains: number }} */ (socket)._drains--;
  if (typeof callback === 'function') callback(error);
  if (isDrain && !error && socket._drains === 0 && socket.writable) socket.emit('drain');
}

/**
 * Writes bytes as they are, without a frame.
 *
 * @type {(owner: Connection, data: unknown, encoding: BufferEncoding | undefined, callback?: SentCallback) => void}
 */
function writeRaw(owner, data, encoding, callback) {
  owner._accepted += push(owner, OUT_WRITE, toBytes(data, encoding), callback);
}

/**
 * @type {(data: unknown, encoding?: BufferEncoding) => Uint8Array}
 * @throws {TypeError} ERR_INVALID_ARG_TYPE, as of a stream of Node
 */
function toBytes(data, encoding) {
  if (typeof data === 'string') return Buffer.from(data, encoding);
  if (isUint8Array(data)) return data;
  if (ArrayBuffer.isView(data)) return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const error = new TypeError('The "chunk" argument must be of type string or an instance of Buffer, TypedArray, or DataView.');
  throw Object.assign(error, { code: 'ERR_INVALID_ARG_TYPE' });
}

/** @type {(milliseconds: unknown) => void} @throws {TypeError | RangeError} As of a socket of Node */
function checkTimeout(milliseconds) {
  if (typeof milliseconds !== 'number') {
    const error = new TypeError('The "msecs" argument must be of type number.');
    throw Object.assign(error, { code: 'ERR_INVALID_ARG_TYPE' });
  }
  if (milliseconds < 0 || !Number.isFinite(milliseconds)) {
    const error = new RangeError('The value of "msecs" is out of range. It must be a non-negative finite number.');
    throw Object.assign(error, { code: 'ERR_OUT_OF_RANGE' });
  }
}

/** Emits 'timeout' after a time without a byte in either direction. */
class IdleTimer {
  /** @param {Based} socket */
  constructor(socket) {
    this.socket = socket;
    this.limit = 0;
    this.bytes = 0;
    this.since = 0;
    this.reported = false;
    /** @type {NodeJS.Timeout | undefined} */
    this.timer = undefined;
  }

  /** @param {number} milliseconds 0 is never */
  set(milliseconds) {
    clearInterval(this.timer);
    this.timer = undefined;
    this.limit = milliseconds;
    if (milliseconds === 0) return;
    this.moved();
    this.timer = setInterval(() => this.look(), Math.max(milliseconds * IDLE_GRAIN, 1));
    this.timer.unref();
  }

  moved() {
    this.bytes = this.socket.bytesRead + this.socket.bytesWritten;
    this.since = performance.now();
    this.reported = false;
  }

  look() {
    if (this.bytes !== this.socket.bytesRead + this.socket.bytesWritten) {
      this.moved();
    } else if (!this.reported && performance.now() - this.since >= this.limit) {
      // Once for each silence, as in Node.
      this.reported = true;
      this.socket.emit('timeout');
    }
  }
}

/** Lets the connection keep the process alive, or not. @type {(socket: Based, does: boolean) => void} */
function setReferenced(socket, does) {
  if (socket._unreferenced !== does || socket.closed) return;
  socket._unreferenced = !does;
  if (does) hold();
  else release();
}

module.exports = { withReactor, writeRaw };

'use strict';

// What a socket does to a connection of the reactor. `owner` is the WebSocket, or the handshake
// before it.

const { isUint8Array } = require('node:util').types;

const { EMPTY_BUFFER } = require('../base/constants');
const outbox = require('../reactor/outbox');
const { push } = require('../connection/post');
const {
  AUX_SHIFT,
  OUT_END,
  OUT_FLAG_ON,
  OUT_FLAG_RESET,
  OUT_KEEP_ALIVE,
  OUT_NO_DELAY,
  OUT_TERMINATE,
  OUT_WRITE,
} = require('../base/layout');
const { hold, release } = require('../reactor/lifetime');
const { state } = require('../reactor/table');

/** @import { EventEmitter } from 'node:events' */
/** @import { Connection, SentCallback } from '../connection/state' */

/** A silent socket is reported too late by at most this part of its timeout. */
const IDLE_GRAIN = 1 / 8;

/** Most seconds that a record can carry. */
const LONGEST_KEEP_ALIVE = (1 << AUX_SHIFT) - 1;

/**
 * Writes bytes as they are, without a frame.
 *
 * @param {Connection} owner
 * @param {unknown} data
 * @param {BufferEncoding | undefined} encoding
 * @param {SentCallback} [callback] Called when the kernel has the bytes, or with an error if it
 *   never will
 */
function write(owner, data, encoding, callback) {
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

/**
 * Half-closes the connection once everything is written.
 *
 * @type {(owner: Connection, callback?: SentCallback) => void}
 */
function end(owner, callback) {
  push(owner, OUT_END, EMPTY_BUFFER, callback);
}

/** Closes the connection with a reset. @type {(owner: Connection) => void} */
function reset(owner) {
  outbox.pushEmpty(owner._slot, owner._generation, OUT_TERMINATE | OUT_FLAG_RESET);
}

/**
 * @param {Connection} owner
 * @param {unknown} [on] False lets the kernel collect small writes; true by default
 */
function setNoDelay(owner, on) {
  const aux = on === undefined || on ? 1 : 0;
  outbox.pushEmpty(owner._slot, owner._generation, OUT_NO_DELAY | (aux << AUX_SHIFT));
}

/**
 * @param {Connection} owner
 * @param {unknown} on
 * @param {unknown} milliseconds Silence before the first probe; 0, the default: as the system has
 *   it
 */
function setKeepAlive(owner, on, milliseconds) {
  const seconds = Math.min(Math.max(Math.trunc(Number(milliseconds) / 1000) || 0, 0), LONGEST_KEEP_ALIVE);
  const flag = on ? OUT_FLAG_ON : 0;
  outbox.pushEmpty(owner._slot, owner._generation, OUT_KEEP_ALIVE | flag | (seconds << AUX_SHIFT));
}

/** Bytes that the reactor has read; -1 after the connection has closed. @type {(owner: Connection) => number} */
function bytesRead(owner) {
  return state.native.bytesGiven(owner._slot, owner._generation);
}

/**
 * Bytes that the kernel has taken from the reactor; -1 after the connection has closed.
 *
 * @type {(owner: Connection) => number}
 */
function bytesWritten(owner) {
  return state.native.bytesTaken(owner._slot, owner._generation);
}

/** @typedef {EventEmitter & { bytesRead: number, bytesWritten: number }} Watched */

/** Emits 'timeout' after a time without a byte in either direction. */
class IdleTimer {
  /** @param {Watched} socket */
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

/**
 * `setTimeout()` with Node's rules for its arguments.
 *
 * @param {Watched & { timeout?: number }} socket
 * @param {IdleTimer | null | undefined} idle
 * @param {unknown} milliseconds Silence after which 'timeout' is emitted; 0 = never
 * @param {() => void} [callback] A listener for 'timeout'; with 0 milliseconds, one to remove
 * @returns {IdleTimer}
 */
function setTimeout(socket, idle, milliseconds, callback) {
  if (typeof milliseconds !== 'number') {
    const error = new TypeError('The "msecs" argument must be of type number.');
    throw Object.assign(error, { code: 'ERR_INVALID_ARG_TYPE' });
  }
  if (milliseconds < 0 || !Number.isFinite(milliseconds)) {
    const error = new RangeError('The value of "msecs" is out of range. It must be a non-negative finite number.');
    throw Object.assign(error, { code: 'ERR_OUT_OF_RANGE' });
  }
  socket.timeout = milliseconds;
  const timer = idle || new IdleTimer(socket);
  timer.set(milliseconds);
  if (callback !== undefined) {
    if (milliseconds === 0) socket.removeListener('timeout', callback);
    else socket.once('timeout', callback);
  }
  return timer;
}

/**
 * Lets the connection keep the process alive, or not.
 *
 * @type {(socket: { _unreferenced: boolean, closed: boolean }, does: boolean) => void}
 */
function setReferenced(socket, does) {
  if (socket._unreferenced !== does || socket.closed) return;
  socket._unreferenced = !does;
  if (does) hold();
  else release();
}

module.exports = {
  bytesRead,
  bytesWritten,
  end,
  reset,
  setKeepAlive,
  setNoDelay,
  setReferenced,
  setTimeout,
  toBytes,
  write,
};

'use strict';

const EventEmitter = require('node:events');

const control = require('./socket-control');

/** @import { Connection } from '../connection/state' */

/**
 * What the methods use of the socket.
 *
 * @typedef {object} Fields
 * @property {Connection} _owner The WebSocket, or the handshake before it
 * @property {number} [_drains] Writes that 'drain' waits for
 * @property {ReturnType<typeof control.setTimeout> | null} [_idle] The timer of `setTimeout()`
 * @property {boolean} _unreferenced Set by `unref()`
 * @property {() => void} [_lost] Called when written bytes are lost
 * @property {(data: unknown, encoding: unknown, callback: unknown) => boolean} _refuse Called for a
 *   write that comes too late
 * @property {boolean} closed
 * @property {boolean} destroyed
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
    /**
     * @param {string | symbol} event
     * @param {(...args: unknown[]) => void} listener
     */
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
     * Writes bytes as they are, without a frame.
     *
     * @param {string | Uint8Array} data
     * @param {BufferEncoding | ((error?: Error | null) => void)} [encoding] Encoding of a string,
     *   'utf8' by default; or the callback
     * @param {unknown} [callback] Called when the kernel has the bytes, or with an error if it
     *   never will
     * @returns {boolean} Whether there is room for more; if not, 'drain' follows when all has left
     */
    write(data, encoding, callback) {
      if (typeof encoding === 'function') {
        callback = encoding;
        encoding = undefined;
      }
      if (!this.writable) return this._refuse(data, encoding, callback);
      const bytes = control.toBytes(data, encoding);
      const isRoomy = this.writableLength + bytes.length < this.writableHighWaterMark;
      if (!isRoomy) this._drains = (this._drains ?? 0) + 1;
      const wantsCall = !isRoomy || typeof callback === 'function';
      control.write(this._owner, bytes, undefined, wantsCall ? written.bind(null, this, !isRoomy, callback) : undefined);
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

    /** Closes the connection with a reset. */
    resetAndDestroy() {
      if (!this.destroyed) control.reset(this._owner);
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

    /** @param {unknown} [on] False lets the kernel collect small writes; true by default */
    setNoDelay(on) {
      control.setNoDelay(this._owner, on);
      return this;
    }

    /**
     * @param {unknown} [on] Whether the kernel probes a silent connection; false by default
     * @param {unknown} [milliseconds] Silence before the first probe, in milliseconds; the system's
     *   by default
     */
    setKeepAlive(on, milliseconds) {
      control.setKeepAlive(this._owner, on, milliseconds);
      return this;
    }

    /**
     * @param {unknown} milliseconds Silence after which 'timeout' is emitted, in milliseconds; 0 =
     *   never
     * @param {() => void} [callback]
     */
    setTimeout(milliseconds, callback) {
      this._idle = control.setTimeout(this, this._idle, milliseconds, callback);
      return this;
    }

    ref() {
      control.setReferenced(this, true);
      return this;
    }

    unref() {
      control.setReferenced(this, false);
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

module.exports = { withReactor };

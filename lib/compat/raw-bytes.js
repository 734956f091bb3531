'use strict';

const EventEmitter = require('node:events');

const control = require('./socket-control');
const { watchListeners } = require('../handshake/watched-listeners');

/**
 * What both kinds of socket do with the bytes of a connection that is the reactor's: 'data' while somebody listens for it,
 * `push()`, and `write()`, which hands on what it is given at once: what the WebSocket sends next is behind it.
 *
 * @param {any} Base An emitter with `_owner`, to whom the connection belongs
 * @returns {any}
 */
function withBytes(Base) {
  class Bytes extends Base {
    /** @param {string | symbol} event @param {(...args: any[]) => void} listener */
    on(event, listener) {
      // Of a stream, this would start the reading that it does itself.
      if (event === 'data') EventEmitter.prototype.on.call(this, event, listener);
      else super.on(event, listener);
      return this;
    }

    /**
     * Has bytes read as if they had been received, before what the peer sends from now on.
     *
     * @param {any} chunk null is the peer's end; what is neither bytes nor a string destroys the socket, as a stream
     * @param {BufferEncoding} [encoding] Of a string
     * @returns {boolean} Whether more is welcome
     */
    push(chunk, encoding) {
      if (!this.readable || this._isFedUp) return false;
      if (chunk === null) {
        this._isFedUp = true;
        control.feed(this._owner, Buffer.alloc(0), true);
        return false;
      }
      try {
        control.feed(this._owner, control.toBytes(chunk, encoding), false);
      } catch (error) {
        this.destroy(error);
        return false;
      }
      return !this.isPaused();
    }

    /** @param {any} chunk @param {BufferEncoding} [encoding] */
    unshift(chunk, encoding) {
      return this.push(chunk, encoding);
    }

    /**
     * Writes bytes as they are, without a frame.
     *
     * @param {string | Uint8Array} data
     * @param {any} [encoding]
     * @param {any} [callback] Called when the bytes were handed to the kernel, or with an error when they never will be
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

    // Frames and what is written raw leave together at the end of the tick anyway.
    cork() {}

    uncork() {}

    /** @param {Buffer} bytes Received, or pushed. Called by its owner */
    _onBytes(bytes) {
      this.emit('data', bytes);
    }
  }
  watchListeners(Bytes.prototype, onListeners);
  return Bytes;
}

/**
 * @param {any} socket
 * @param {boolean} isDrain Whether 'drain' waits for it
 * @param {any} callback
 * @param {Error | null} [error]
 */
function written(socket, isDrain, callback, error) {
  if (error) socket._lost?.();
  if (isDrain) socket._drains--;
  if (typeof callback === 'function') callback(error);
  if (isDrain && !error && socket._drains === 0 && socket.writable) socket.emit('drain');
}

/** @this {any} @param {string | symbol} [event] */
function onListeners(event) {
  if (event !== undefined && event !== 'data') return;
  const isWatched = this.listenerCount('data') !== 0;
  if (isWatched !== !!this._isWatched) {
    this._isWatched = isWatched;
    control.watch(this._owner, isWatched);
  }
}

module.exports = { withBytes };

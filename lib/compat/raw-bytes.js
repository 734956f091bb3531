'use strict';

const EventEmitter = require('node:events');

const control = require('./socket-control');

/**
 * What both kinds of socket do with raw bytes of a connection that is the reactor's. `write()`
 * hands its bytes on at once: what the WebSocket sends next is behind them. Nothing is read by way
 * of the socket.
 *
 * @param {any} Base An emitter with `_owner`, to whom the connection belongs
 * @returns {any}
 */
function withBytes(Base) {
  class Bytes extends Base {
    /** @param {string | symbol} event @param {(...args: any[]) => void} listener */
    on(event, listener) {
      // A listener for 'data' would make the stream resume, and that the WebSocket.
      if (event === 'data') EventEmitter.prototype.on.call(this, event, listener);
      else super.on(event, listener);
      return this;
    }

    // The reactor reads: what is pushed goes nowhere.
    push() {
      return false;
    }

    unshift() {}

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
  }
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

module.exports = { withBytes };

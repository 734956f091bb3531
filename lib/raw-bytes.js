'use strict';

const EventEmitter = require('node:events');

const control = require('./socket-control');
const { watchListeners } = require('./watched-listeners');

/**
 * What both kinds of socket do with the bytes of a connection that the reactor reads: 'data' while somebody listens for
 * it, and `push()`.
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

    /** @param {Buffer} bytes Received, or pushed. Called by its owner */
    _onBytes(bytes) {
      this.emit('data', bytes);
    }
  }
  watchListeners(Bytes.prototype, onListeners);
  return Bytes;
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

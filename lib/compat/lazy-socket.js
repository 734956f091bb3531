'use strict';

const EventEmitter = require('node:events');
const net = require('node:net');
const { Duplex } = require('node:stream');

/** Own properties that a net.Socket has and a stream has not. */
const OWN = { allowHalfOpen: true, parser: null, server: null, timeout: 0, _host: null };

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
Object.assign(LazySocket.prototype, OWN);

for (const name of ['_readableState', '_writableState']) {
  Object.defineProperty(LazySocket.prototype, name, {
    /** @this {any} */
    get() {
      if (this._owner === undefined) return undefined;
      makeStream(this);
      return this[name];
    },
    /**
     * @this {unknown}
     * @param {unknown} value
     */
    set(value) {
      Object.defineProperty(this, name, { configurable: true, enumerable: false, value, writable: true });
    },
  });
}

// The methods of a stream would make its state.
for (const name of ['on', 'removeListener', 'removeAllListeners', 'emit']) {
  const value = /** @type {Record<string, unknown>} */ (/** @type {unknown} */ (EventEmitter.prototype))[name];
  Object.defineProperty(LazySocket.prototype, name, { configurable: true, value, writable: true });
}

/** @typedef {{ _readableState: { flowing: boolean | null }, _writableState: object }} States */

/** @type {(socket: Record<string, unknown>) => void} */
function makeStream(socket) {
  const { _readableState: readable, _writableState: writable } = /** @type {States} */ (
    /** @type {unknown} */ (new Duplex({ autoDestroy: false, emitClose: false }))
  );
  socket._readableState = readable;
  socket._writableState = writable;
  readable.flowing = true;
  Object.defineProperties(writable, {
    ended: { get: () => socket._ended },
    ending: { get: () => socket._ended },
    length: { get: () => socket.writableLength },
  });
  Object.defineProperties(readable, {
    ended: { get: () => socket._peerEnded },
    endEmitted: { get: () => socket._peerEnded },
  });
}

module.exports = { LazySocket };

'use strict';

const EventEmitter = require('node:events');
const net = require('node:net');
const { Duplex } = require('node:stream');

const { GONE, TERMINATED } = require('../base/bits');
const {
  OPENED_FAMILY,
  OPENED_GENERATION,
  OPENED_LOCAL_ADDRESS,
  OPENED_LOCAL_PORT,
  OPENED_REMOTE_ADDRESS,
  OPENED_REMOTE_PORT,
  OUT_END,
} = require('../base/layout');
const { EMPTY_BUFFER } = require('../base/constants');
const { formatAddress } = require('../connection/address');
const { push } = require('../connection/post');
const { withReactor } = require('./reactor-socket');

/** @import { Connection, WebSocket } from '../connection/state' */

const IPV6_BYTES = 16;

/** Bytes of a 101 without a subprotocol and extensions. */
const ANSWER_LENGTH = 129;

/**
 * An IPv4 address is a number, an IPv6 address a string of 16 bytes: every connection keeps them.
 *
 * @typedef {object} Peer
 * @property {number} _slot
 * @property {number} _generation
 * @property {number | string} _local
 * @property {number} _localPort
 * @property {number | string} _remote
 * @property {number} _remotePort
 */

/** @type {(peer: Peer, slot: number, bytes: Buffer, start: number) => void} */
function readPeer(peer, slot, bytes, start) {
  const family = bytes.readUInt32LE(start + OPENED_FAMILY);
  peer._slot = slot;
  peer._generation = bytes.readUInt32LE(start + OPENED_GENERATION);
  peer._localPort = bytes.readUInt32LE(start + OPENED_LOCAL_PORT);
  peer._remotePort = bytes.readUInt32LE(start + OPENED_REMOTE_PORT);
  peer._local = readAddress(bytes, start + OPENED_LOCAL_ADDRESS, family);
  peer._remote = readAddress(bytes, start + OPENED_REMOTE_ADDRESS, family);
}

/** `family` is 4, 6, or 0 if the kernel knows no address. @type {(bytes: Buffer, at: number, family: number) => number | string} */
function readAddress(bytes, at, family) {
  if (family === 6) return bytes.toString('latin1', at, at + IPV6_BYTES);
  return family === 4 ? bytes.readInt32BE(at) : '';
}

/** @type {(address: number | string) => 'IPv4' | 'IPv6' | undefined} */
function familyOf(address) {
  if (typeof address === 'number') return 'IPv4';
  return address === '' ? undefined : 'IPv6';
}

/** @type {(address: number | string, port: number) => number | undefined} */
function portOf(address, port) {
  return address === '' ? undefined : port;
}

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
    /** @this {unknown} @param {unknown} value */
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

/**
 * `ws._socket` and `req.socket` of a connection that the reactor has accepted. The reactor reads,
 * so there is no 'data'.
 */
class Socket extends withReactor(LazySocket) {
  /** @param {Connection} owner */
  constructor(owner) {
    super();
    /** @type {Connection} */
    this._owner = owner;
    this._ended = false;
    this._peerEnded = false;
    this._closed = (owner._bits & GONE) !== 0;
    this._destroyed = false;
    this._unreferenced = false;
    this._peerSeen = false;
    /** Bytes of the 101; null if the reactor wrote it, or nobody yet. @type {number | null} */
    this._answered = null;
    this.connecting = false;
    /** @type {boolean | undefined} */
    this.encrypted = undefined;
    /** @type {boolean | undefined} */
    this.authorized = undefined;
  }

  get destroyed() {
    return this._destroyed || (this._owner._bits & (GONE | TERMINATED)) !== 0;
  }

  get remoteAddress() {
    return this._knowsPeer() ? formatAddress(this._owner._remote) : undefined;
  }

  get remotePort() {
    return this._knowsPeer() ? portOf(this._owner._remote, this._owner._remotePort) : undefined;
  }

  get remoteFamily() {
    return this._knowsPeer() ? familyOf(this._owner._remote) : undefined;
  }

  get localAddress() {
    return this.destroyed ? undefined : formatAddress(this._owner._local);
  }

  get localPort() {
    return this.destroyed ? undefined : portOf(this._owner._local, this._owner._localPort);
  }

  get localFamily() {
    return this.destroyed ? undefined : familyOf(this._owner._local);
  }

  address() {
    if (this.localAddress === undefined) return {};
    return { address: this.localAddress, family: this.localFamily, port: this.localPort };
  }

  get readable() {
    return !this._peerEnded && !this.destroyed;
  }

  get writable() {
    return !this.destroyed && !this._ended;
  }

  get closed() {
    return this._closed;
  }

  get pending() {
    return false;
  }

  get readyState() {
    return this.destroyed ? 'closed' : this._ended ? 'readOnly' : 'open';
  }

  get bytesRead() {
    return this._bytesGiven();
  }

  get bytesWritten() {
    const { _common: common } = /** @type {Partial<WebSocket>} */ (this._owner);
    const answered = this._answered ?? (common === undefined ? 0 : answerLength(common.shared));
    return answered + this._bytesTaken();
  }

  get writableEnded() {
    return this._ended;
  }

  /** @type {(data: unknown, encoding: unknown, callback?: (error: Error) => void) => boolean} */
  _refuse(_data, _encoding, callback) {
    const error = /** @type {NodeJS.ErrnoException} */ (new Error('write after end'));
    error.code = 'ERR_STREAM_WRITE_AFTER_END';
    if (callback) process.nextTick(callback, error);
    return false;
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
    if (callback) this.once('finish', callback);
    if (this.writable) {
      this._ended = true;
      push(this._owner, OUT_END, EMPTY_BUFFER, (failed) => failed || this.emit('finish'));
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

  destroySoon() {
    this.end();
  }

  setEncoding() {
    return this;
  }

  /** The address of the peer is shown after the end if it was shown before, as by a net.Socket. */
  _knowsPeer() {
    if (!this.destroyed) this._peerSeen = true;
    return this._peerSeen;
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
    this._bytesGiven();
    this._bytesTaken();
    this._closed = true;
    this._destroyed = true;
    this._idle?.set(0);
    this.emit('close', false);
  }
}

/**
 * Bytes of the 101 that the reactor has written.
 *
 * @type {(common: { extensions: string, protocol: string }) => number}
 */
function answerLength({ extensions, protocol }) {
  const line = (/** @type {string} */ name, /** @type {string} */ value) => (value === '' ? 0 : `${name}: ${value}\r\n`.length);
  return ANSWER_LENGTH + line('Sec-WebSocket-Protocol', protocol) + line('Sec-WebSocket-Extensions', extensions);
}

module.exports = { Socket, readPeer };

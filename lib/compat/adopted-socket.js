'use strict';

const net = require('node:net');

const { GONE, TERMINATED } = require('../base/bits');
const { EMPTY_BUFFER } = require('../base/constants');
const { push } = require('../connection/post');
const { OUT_END } = require('../base/layout');
const { withReactor, writeRaw } = require('./reactor-socket');

/** @import { AnySocket, WebSocket } from '../connection/state' */

/** The callback that a stream passes to `_write()`. @typedef {(error?: Error | null) => void} Callback */

/** What a net.Socket would ask its handle for. */
const ADDRESSES = /** @type {const} */ (['remoteAddress', 'remotePort', 'remoteFamily', 'localAddress', 'localPort', 'localFamily']);

// `any`: the class extends a mixin without a type, whose instances tsc lets no symbol index.
const kState = /** @type {any} */ (Symbol('kState'));

/** What an adopted socket had when it was adopted, and what it waits for. */
class State {
  /**
   * @param {WebSocket} ws
   * @param {net.Socket} socket
   * @param {number} bytesRead Bytes that came before the reactor reads
   * @param {number} bytesWritten Bytes that left before the WebSocket writes
   */
  constructor(ws, socket, bytesRead, bytesWritten) {
    this.owner = ws;
    this.addresses = Object.fromEntries(ADDRESSES.map((name) => [name, socket[name]]));
    this.local = socket.address();
    this.bytesRead = bytesRead;
    this.bytesWritten = bytesWritten;
    /** The rest of `destroy()`, after the connection has closed. @type {(() => void) | null} */
    this.destroyed = null;
  }
}

/**
 * A net.Socket whose connection the reactor has adopted: the same object, with its listeners and its place in the
 * server's count. What it did to its handle it does to the connection.
 */
class AdoptedSocket extends withReactor(net.Socket) {
  get _owner() {
    return this[kState].owner;
  }

  get destroyed() {
    return super.destroyed || (this._owner._bits & (GONE | TERMINATED)) !== 0;
  }

  set destroyed(destroyed) {
    super.destroyed = destroyed;
  }

  get readable() {
    return !this.destroyed && super.readable;
  }

  set readable(readable) {
    super.readable = readable;
  }

  get writable() {
    return !this.destroyed && super.writable;
  }

  set writable(writable) {
    super.writable = writable;
  }

  get pending() {
    return false;
  }

  address() {
    return { ...this[kState].local };
  }

  get bytesRead() {
    return this[kState].bytesRead + this._bytesGiven();
  }

  get bytesWritten() {
    return this[kState].bytesWritten + this._bytesTaken();
  }

  /** @type {(data: string | Uint8Array, encoding: BufferEncoding, callback?: Callback) => boolean} */
  _refuse(data, encoding, callback) {
    return net.Socket.prototype.write.call(this, data, encoding, callback);
  }

  /** Bytes that did not leave are lost with the connection. */
  _lost() {
    this.destroy();
  }

  _read() {}

  /** @type {(chunk: string | Uint8Array, encoding: BufferEncoding, callback: Callback) => void} */
  _write(chunk, encoding, callback) {
    if (this.destroyed) callback();
    else writeRaw(this._owner, chunk, encoding, this._done(callback));
  }

  get _writev() {
    return undefined;
  }

  /** @type {(callback: Callback) => void} */
  _final(callback) {
    if (this.destroyed) callback();
    else push(this._owner, OUT_END, EMPTY_BUFFER, this._done(callback));
  }

  /**
   * Bytes that did not leave are lost with the connection, which is no error of the socket.
   *
   * @type {(callback: Callback) => (error: Error | null) => void}
   */
  _done(callback) {
    return (error) => {
      if (error) this.destroy();
      callback(error);
    };
  }

  /** @type {(error: Error | null, callback: Callback) => void} */
  _destroy(error, callback) {
    const state = this[kState];
    this._idle?.set(0);
    state.destroyed = () => {
      this._handle = new ClosedHandle(this.bytesRead, this.bytesWritten);
      super._destroy(error, callback);
    };
    if ((this._owner._bits & GONE) !== 0) state.destroyed();
    else this._owner._destroy();
  }

  /** The peer sends no more. The owner calls it. */
  _onEnd() {
    if (this.readableEnded || this._readableState?.ended) return;
    net.Socket.prototype.push.call(this, null);
    this.read();
  }

  /** The connection has closed. The owner calls it. */
  _onClosed() {
    const { destroyed } = this[kState];
    if (destroyed === null) this.destroy();
    else destroyed();
  }
}

for (const name of ADDRESSES) {
  Object.defineProperty(AdoptedSocket.prototype, name, {
    configurable: true,
    /** @this {{ [kState]: State }} */
    get() {
      return this[kState].addresses[name];
    },
  });
}

/** The net.Socket closes this in place of its handle, and so emits 'close' and leaves the server's count. */
class ClosedHandle {
  /** @param {number} bytesRead @param {number} bytesWritten */
  constructor(bytesRead, bytesWritten) {
    this.bytesRead = bytesRead;
    this.bytesWritten = bytesWritten;
  }

  /** @type {(callback: () => void) => void} */
  close(callback) {
    process.nextTick(callback);
  }
}

/**
 * Turns a net.Socket, whose connection the reactor has adopted, into an AdoptedSocket.
 *
 * @param {AnySocket & net.Socket} socket
 * @param {WebSocket} ws
 * @param {number} readBefore Bytes that came before the reactor reads
 * @param {number} writtenBefore Bytes that left before the WebSocket writes
 */
function become(socket, ws, readBefore, writtenBefore) {
  const handle = socket._handle;
  socket.setTimeout(0);
  socket[kState] = new State(ws, socket, readBefore, writtenBefore);
  socket._unreferenced = false;
  forgetParser(socket);
  Object.setPrototypeOf(socket, AdoptedSocket.prototype);
  if (typeof handle.hasRef === 'function' && !handle.hasRef()) socket.unref();
  // The reactor has a descriptor of its own. `destroy()` of a net.Socket would report a closed
  // connection.
  socket._handle = null;
  handle.close();
  // An error of `destroy(error)` is not an error of the WebSocket.
  socket.on('error', ignore);
}

/**
 * Removes the methods that the HTTP server has put on the socket: they detach its parser when a
 * listener is added.
 *
 * @type {(socket: AnySocket) => void}
 */
function forgetParser(socket) {
  for (const name of ['on', 'addListener', 'prependListener']) {
    const own = Object.hasOwn(socket, name) ? socket[name] : null;
    if (own?.name === 'socketListenerWrap' || own === /** @type {Record<string, unknown>} */ (/** @type {unknown} */ (net.Socket.prototype))[name]) delete socket[name];
  }
}

function ignore() {}

module.exports = { become };

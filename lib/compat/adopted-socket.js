'use strict';

const net = require('node:net');

const { GONE, TERMINATED } = require('../base/bits');
const { withReactor } = require('./reactor-socket');
const control = require('./socket-control');

/** @import { AnySocket, WebSocket } from '../connection/state' */

/**
 * The callback that a stream passes to `_write()`. @typedef {(error?: Error | null) => void}
 * Callback
 */

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
    this.ws = ws;
    this.remoteAddress = socket.remoteAddress;
    this.remotePort = socket.remotePort;
    this.remoteFamily = socket.remoteFamily;
    this.local = /** @type {net.AddressInfo} */ (socket.address());
    this.bytesRead = bytesRead;
    this.bytesWritten = bytesWritten;
    // The reactor's counters of bytes, as last seen: they do not outlive the connection.
    this.given = 0;
    this.taken = 0;
    /** The rest of `destroy()`, after the connection has closed. @type {(() => void) | null} */
    this.destroyed = null;
  }
}

/**
 * A net.Socket whose connection the reactor has adopted: the same object, with its listeners, its
 * streams and its place in the server's count. Only what it did to its handle it does to the
 * connection.
 */
class AdoptedSocket extends withReactor(net.Socket) {
  get _owner() {
    return this[kState].ws;
  }

  get destroyed() {
    return super.destroyed || (this[kState].ws._bits & (GONE | TERMINATED)) !== 0;
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

  get remoteAddress() {
    return this[kState].remoteAddress;
  }

  get remotePort() {
    return this[kState].remotePort;
  }

  get remoteFamily() {
    return this[kState].remoteFamily;
  }

  get localAddress() {
    return this[kState].local.address;
  }

  get localPort() {
    return this[kState].local.port;
  }

  get localFamily() {
    return this[kState].local.family;
  }

  address() {
    return { ...this[kState].local };
  }

  get bytesRead() {
    const state = this[kState];
    state.given = Math.max(state.given, control.bytesRead(state.ws));
    return state.bytesRead + state.given;
  }

  get bytesWritten() {
    const state = this[kState];
    state.taken = Math.max(state.taken, control.bytesWritten(state.ws));
    return state.bytesWritten + state.taken;
  }

  /**
   * @param {string | Uint8Array} data
   * @param {BufferEncoding} encoding
   * @param {Callback | undefined} callback
   */
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
    else control.write(this[kState].ws, chunk, encoding, this._done(callback));
  }

  /** @type {(chunks: Array<{ chunk: string | Uint8Array, encoding: BufferEncoding }>, callback: Callback) => void} */
  _writev(chunks, callback) {
    const { length } = chunks;
    for (let i = 0; i < length; i++) {
      const { chunk, encoding } = chunks[i];
      if (i === length - 1) this._write(chunk, encoding, callback);
      else if (!this.destroyed) control.write(this[kState].ws, chunk, encoding, undefined);
    }
  }

  /** @type {(callback: Callback) => void} */
  _final(callback) {
    if (this.destroyed) callback();
    else control.end(this[kState].ws, this._done(callback));
  }

  /**
   * Bytes that did not leave are lost with the connection, which is no error of the socket.
   *
   * @param {Callback} callback
   */
  _done(callback) {
    return (/** @type {Error | null} */ error) => {
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
    if ((state.ws._bits & GONE) !== 0) state.destroyed();
    else state.ws._destroy();
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

/** The net.Socket closes this in place of its handle, and so emits 'close' and leaves the server's count. */
class ClosedHandle {
  /**
   * @param {number} bytesRead
   * @param {number} bytesWritten
   */
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
 * The private fields of a net.Socket that `become` uses.
 *
 * @typedef {object} Fields
 * @property {{ hasRef?: () => boolean, close: () => void }} _handle
 * @property {boolean} _unreferenced Set by `unref()`
 */

/** @typedef {net.Socket & Fields & Record<symbol, unknown>} Adoptable */

/**
 * Turns a net.Socket, whose connection the reactor has adopted, into an AdoptedSocket.
 *
 * @param {Adoptable} socket
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
  socket._handle = /** @type {never} */ (null);
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

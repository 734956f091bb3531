'use strict';

const EventEmitter = require('node:events');

const { RawConnection } = require('./raw-connection');
const { hold, release } = require('../reactor/lifetime');
const { watchListeners } = require('../handshake/watched-listeners');
const { IN_REQUEST, KIND_MASK } = require('../reactor/layout');

const { emit } = EventEmitter.prototype;

/**
 * Stands for the HTTP server that ws has on a port of its own: `wss._server`. The reactor listens and answers, so there
 * is no 'request', and 'upgrade' only where somebody has a say in it.
 */
class ListenerServer extends EventEmitter {
  /**
   * @param {any} wss
   * @param {(ws: any, request: any) => void} connected
   */
  constructor(wss, connected) {
    super();
    this._wss = wss;
    this._upgrade = (/** @type {any} */ request, /** @type {any} */ socket, /** @type {Buffer} */ head) => {
      wss.handleUpgrade(request, socket, head, connected);
    };
    super.on('upgrade', this._upgrade);
    this._unreferenced = false;
    /** Connections that were shown and whose request has not come, by slot. @type {Map<number, any>} */
    this._early = new Map();
  }

  /** Whether somebody wants to see connections before their request. */
  get isWatched() {
    return /** @type {any} */ (this)._events.connection !== undefined;
  }

  /** Whether somebody else takes upgrades, or nobody. */
  get isHandedOn() {
    return /** @type {any} */ (this)._events.upgrade !== this._upgrade || this.emit !== emit;
  }

  /**
   * A connection whose request has not come. Called by the dispatch.
   *
   * @param {number} slot
   * @param {Buffer} bytes
   * @param {number} start Where in it the payload of the CONNECTION record begins
   */
  accepted(slot, bytes, start) {
    this._count();
    const connection = new RawConnection(this._wss, slot, bytes, start);
    this._early.set(slot, connection);
    const { _context: context } = this._wss;
    if (context === null) this.emit('connection', connection.socket);
    else context.runInAsyncScope(this.emit, this, 'connection', connection.socket);
  }

  /**
   * The request of a connection has come: OPEN or REQUEST.
   *
   * @param {number} slot
   * @param {number} tag
   * @returns {any} The connection, if it was shown before; null if whoever was shown it does not want it
   */
  take(slot, tag) {
    const connection = this._early.get(slot);
    if (connection === undefined) {
      this._count();
      return connection;
    }
    this._early.delete(slot);
    const { socket } = connection;
    // The reactor may have read the request before it knew. As in ws, one that is only ended may still be asked about.
    if ((tag & KIND_MASK) === IN_REQUEST ? !socket.destroyed : socket.writable) return connection;
    socket.destroy();
    return null;
  }

  /** @param {any} connection That has gone before its request came */
  forget(connection) {
    this._early.delete(connection._slot);
  }

  _count() {
    this._wss._connections++;
    hold();
  }

  get listening() {
    return this._wss._listenerId !== -1;
  }

  address() {
    const { _address: address } = this._wss;
    return this.listening && address !== null ? { ...address } : null;
  }

  /** @param {(error?: Error) => void} [callback] */
  close(callback) {
    this._wss.close(callback);
    return this;
  }

  ref() {
    this._refer(true);
    return this;
  }

  unref() {
    this._refer(false);
    return this;
  }

  /** @param {boolean} does Whether listening keeps the process alive */
  _refer(does) {
    if (this._unreferenced !== does) return;
    this._unreferenced = !does;
    if (!this.listening) return;
    if (does) hold();
    else release();
  }

  /** It listens from now on. Called by its owner. */
  _onBound() {
    if (!this._unreferenced) hold();
  }

  /** It listens no more. Called by its owner. */
  _onReleased() {
    if (!this._unreferenced) release();
    this.emit('close');
  }
}

watchListeners(ListenerServer.prototype, function () {
  this._wss._updateAsk();
});

module.exports = { ListenerServer };

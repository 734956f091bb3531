'use strict';

const { HANDSHAKE } = require('../bits');
const outbox = require('../reactor/outbox');
const { abandonSends, sent } = require('../connection/outgoing');
const { IN_CLOSED, IN_SENT, KIND_MASK, OUT_PAUSE, OUT_RESUME, OUT_TERMINATE } = require('../reactor/layout');
const { release } = require('../reactor/lifetime');
const table = require('../reactor/table');
const { Socket, readPeer } = require('./socket');

/** @import { SentCallback } from '../connection/state' */

/**
 * A connection of a listener before its request has come. There are only some where somebody listens for 'connection' of
 * `wss._server`. It holds the slot in the table until the handshake or the WebSocket takes it over, with its socket.
 */
class RawConnection {
  /**
   * @param {any} server The WebSocketServer
   * @param {number} slot
   * @param {Buffer} bytes
   * @param {number} start Where in it the payload of the CONNECTION record begins
   */
  constructor(server, slot, bytes, start) {
    this.server = server;
    this._slot = slot;
    this._generation = 0;
    this._bits = HANDSHAKE;
    this._accepted = 0;
    this._extra = { callbacks: /** @type {SentCallback[] | null} */ (null) };
    this._local = this._remote = /** @type {number | string} */ (0);
    this._localPort = this._remotePort = 0;
    readPeer(this, slot, bytes, start);
    this.isPaused = false;
    this.bufferedAmount = 0;
    this.gone = false;
    this.socket = /** @type {any} */ (new Socket(this));
    table.place(slot, this);
  }

  pause() {
    this.isPaused = true;
    outbox.pushEmpty(this._slot, this._generation, OUT_PAUSE);
  }

  resume() {
    this.isPaused = false;
    outbox.pushEmpty(this._slot, this._generation, OUT_RESUME);
  }

  _ensureExtra() {
    return this._extra;
  }

  /**
   * Somebody else has the connection from now on.
   *
   * @param {any} owner
   * @returns {any} The socket
   */
  handOver(owner) {
    owner._accepted = /** @type {any} */ (this)._accepted;
    owner._ensureExtra().callbacks = this._extra.callbacks;
    this.socket._owner = owner;
    return this.socket;
  }

  /** @param {number} tag @param {number} _offset @param {number} length */
  _onRecord(tag, _offset, length) {
    const kind = tag & KIND_MASK;
    if (kind === IN_SENT) sent(this, length);
    if (kind !== IN_CLOSED) return;
    table.forget(this._slot);
    this._onFailed();
  }

  _onFailed() {
    this.gone = true;
    this.server._listener.forget(this);
    if (!this.socket._unreferenced) release();
    this.server.closed(this);
    abandonSends(this);
    this.socket._onClosed();
  }

  terminate() {
    this._destroy();
  }

  _destroy() {
    if (!this.gone) outbox.pushEmpty(this._slot, this._generation, OUT_TERMINATE);
  }
}

module.exports = { RawConnection };

'use strict';

const { GONE, INDIRECT } = require('../base/bits');
const { NO_GENERATION, NO_SLOT } = require('../base/constants');
const { IN_CLOSED, IN_SENT, KIND_MASK, OUT_TERMINATE } = require('../base/layout');
const { release } = require('../reactor/lifetime');
const outbox = require('../reactor/outbox');
const table = require('../reactor/table');
const { JUST_NOW } = require('../reactor/loop-turns');
const { readPeer } = require('./opened');
const { abandonSends, sent } = require('./post');

/** @import { AnySocket, Connection, ExtraFields, Server } from './state' */

/**
 * The owner of a slot: records of the slot go to it. A WebSocket has the same members; subclasses are connections that are
 * none yet. An Endpoint itself is who a record is about, or what is left of a connection that emitted 'close' before the
 * reactor closed its socket.
 */
class Endpoint {
  /** @param {Server} [owner] */
  constructor(owner) {
    this._owner = /** @type {Server} */ (owner);
    this._slot = NO_SLOT;
    this._generation = NO_GENERATION;
    this._bits = INDIRECT;
    this._turn = JUST_NOW;
    /** Bytes of raw writes given to the reactor. */
    this._accepted = 0;
    /** @type {Pick<ExtraFields, 'callbacks' | 'roomUntil' | 'stream'>} */
    this._extra = { callbacks: null, roomUntil: 0, stream: null };
    // Both ends: see `readPeer`.
    /** @type {number | string} */
    this._local = 0;
    this._localPort = 0;
    /** @type {number | string} */
    this._remote = 0;
    this._remotePort = 0;
    /** See tls/session.js; '' without TLS. */
    this._tlsText = '';
    /** What the program sees of it. @type {any} */
    this._socket = null;
    this.isPaused = false;
  }

  get bufferedAmount() {
    return 0;
  }

  pause() {}

  resume() {}

  _ensureExtra() {
    return this._extra;
  }

  /** `start`: of the payload of an OPEN, REQUEST, GIVEN or SECURE record. @type {(slot: number, bytes: Buffer, start: number) => this} */
  _read(slot, bytes, start) {
    this._slot = slot;
    readPeer(this, bytes, start);
    return this;
  }

  /**
   * Gives the slot to another owner, with the sends that have not left, and the socket that the program has seen.
   * `agreed`: by the handshake of a WebSocket.
   *
   * @type {(next: Connection, agreed?: Partial<import('./common').Shared>) => void}
   */
  _moveTo(next, agreed) {
    next._slot = this._slot;
    next._generation = this._generation;
    next._accepted = this._accepted;
    next._remote = this._remote;
    next._remotePort = this._remotePort;
    next._meet(this, agreed);
    const { callbacks } = this._extra;
    if (callbacks !== null) next._ensureExtra().callbacks = callbacks;
    if (this._socket !== null) next._adopt(this._socket);
    table.place(this._slot, next);
  }

  /** @type {(from: Endpoint, agreed?: object) => void} */
  _meet({ _local, _localPort, _tlsText }) {
    this._local = _local;
    this._localPort = _localPort;
    this._tlsText = _tlsText;
  }

  /** @param {AnySocket} socket */
  _adopt(socket) {
    this._socket = socket;
    socket._owner = this;
  }

  /** For anything but a plain message. @type {(tag: number, offset: number, length: number) => void} */
  _onRecord(tag, offset, length) {
    const kind = tag & KIND_MASK;
    if (kind === IN_SENT) return sent(this, length);
    if (kind !== IN_CLOSED) return;
    table.forget(this._slot);
    this._onFailed();
  }

  /** The reactor has died, or the connection has ended. */
  _onFailed() {
    this._bits |= GONE;
    if (this._socket === null) return;
    if (!this._socket._unreferenced) release();
    abandonSends(this);
    this._socket._onClosed();
  }

  /** Closes the socket at once. */
  _destroy(flags = 0) {
    if ((this._bits & GONE) === 0) outbox.pushEmpty(this._slot, this._generation, OUT_TERMINATE | flags);
  }

  /** A record of the connection is lost. */
  terminate() {
    this._destroy();
  }
}

module.exports = { Endpoint };

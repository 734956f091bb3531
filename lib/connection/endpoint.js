'use strict';

const { GONE, INDIRECT } = require('../base/bits');
const { NO_GENERATION, NO_SLOT } = require('../base/constants');
const { Emitter } = require('../base/emitter');
const { IN_CLOSED, IN_SENT, KIND_MASK, OUT_TERMINATE } = require('../base/layout');
const { unref } = require('../reactor/lifetime');
const outbox = require('../reactor/outbox');
const table = require('../reactor/table');
const { JUST_NOW } = require('../reactor/loop-turns');
const { profileOf } = require('./profile');
const { generationOf, readPeer } = require('./handshake-info');
const { abandonSends, sent } = require('./enqueue');
const { ColdState } = require('./state');

/** @import EventEmitter from 'node:events' */
/** @import { Shared } from './profile' */
/** @import { AnySocket, ColdFields, Server } from './state' */

/** @type {new () => EventEmitter} */
const Base = Emitter;

/**
 * The owner of a slot: records of the slot go to it. Subclasses are WebSockets, and connections before that. An
 * Endpoint itself is the tombstone of a connection that emitted 'close' before the reactor closed its socket.
 */
class Endpoint extends Base {
  /** @param {unknown} [options] The server's: connections with the same options share a profile */
  constructor(options) {
    super();
    this._bits = INDIRECT;
    this._slot = NO_SLOT;
    this._generation = NO_GENERATION;
    this._turn = JUST_NOW;
    // Bytes of frames and of raw writes, given to the reactor.
    this._accepted = 0;
    // The address of the peer: an IPv4 address is a number, an IPv6 address a string of 16 bytes, an unknown one ''.
    this._remotePort = 0;
    /** @type {number | string} */
    this._remote = 0;
    this._profile = profileOf(options);
    /** @type {ColdFields | null} */
    this._extra = null;
  }

  get bufferedAmount() {
    return 0;
  }

  get _local() {
    return this._profile.shared.local;
  }

  get _localPort() {
    return this._profile.shared.localPort;
  }

  /** @returns {Server} */
  get _owner() {
    return /** @type {Server} */ (this._profile.shared.owner);
  }

  /** See tls/session.js; '' without TLS. */
  get _tlsText() {
    return this._profile.shared.tls;
  }

  /** The socket that the program has seen; null: none. @returns {any} */
  get _socket() {
    return this._extra === null ? null : this._extra.socket;
  }

  pause() {}

  resume() {}

  /** A record of the connection is lost. */
  terminate() {
    this._destroy();
  }

  _ensureExtra() {
    if (this._extra === null) this._extra = new ColdState();
    return this._extra;
  }

  /** @param {Partial<Shared>} changes */
  _change(changes) {
    this._profile = this._profile.with(changes);
  }

  /**
   * Reads the payload of an OPEN, REQUEST, HANDOFF or SECURE record, from `start` on, and completes `agreed`.
   *
   * @type {(slot: number, bytes: Buffer, start: number, agreed: Partial<Shared>) => this}
   */
  _read(slot, bytes, start, agreed) {
    this._slot = slot;
    // In the same object: another one is twice the memory of a connection, until it is collected.
    readPeer(this, bytes, start, agreed);
    this._profile = this._profile.variant(agreed);
    return this;
  }

  /**
   * Takes the slot of such a record, from the owner that the connection had before.
   *
   * @type {(slot: number, bytes: Buffer, start: number, agreed: Partial<Shared>) => this}
   */
  _take(slot, bytes, start, agreed) {
    const before = table.connectionOf(slot);
    if (before !== undefined && before._generation === generationOf(bytes, start)) before._moveTo(this);
    this._read(slot, bytes, start, agreed);
    table.place(slot, this);
    return this;
  }

  /** Takes a new slot: the connection was made before it came. @type {(slot: number, generation: number) => void} */
  _arrive(slot, generation) {
    this._slot = slot;
    this._generation = generation;
    table.place(slot, this);
  }

  /**
   * Gives the slot to another owner, with the sends that have not left, and the socket that the program has seen.
   * `agreed`: by the handshake of a WebSocket.
   *
   * @type {(next: Endpoint, agreed?: Partial<Shared>) => void}
   */
  _moveTo(next, agreed) {
    const { local, localPort, tls, via } = this._profile.shared;
    next._slot = this._slot;
    next._generation = this._generation;
    next._accepted = this._accepted;
    next._remote = this._remote;
    next._remotePort = this._remotePort;
    next._profile = next._profile.variant({ local, localPort, tls, via, ...agreed });
    if (this._extra !== null) {
      const { callbacks, socket } = this._extra;
      if (callbacks !== null) next._ensureExtra().callbacks = callbacks;
      if (socket !== null) next._adopt(socket);
    }
    table.place(this._slot, next);
  }

  /** @param {AnySocket} socket */
  _adopt(socket) {
    this._ensureExtra().socket = socket;
    socket._owner = this;
    // A relayed one is none of ours yet.
    socket._awaitFrames?.();
  }

  /** For anything but a plain message. @type {import('../reactor/reactors').OnRecord} */
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
    const { _socket: socket } = this;
    if (socket === null) return;
    if (!socket._unreferenced) unref();
    abandonSends(this);
    socket._onClosed();
  }

  /** Closes the socket at once. */
  _destroy(flags = 0) {
    if ((this._bits & GONE) === 0) outbox.pushEmpty(this._slot, this._generation, OUT_TERMINATE | flags);
  }
}

// As a program sees the class of a WebSocket.
Object.defineProperty(Endpoint, 'name', { value: Emitter.name });

module.exports = { Endpoint };

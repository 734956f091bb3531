'use strict';

// Connections that have TLS, and no request yet, for 'secureConnection' and 'tlsClientError'.

const { GONE, INDIRECT, TERMINATED } = require('../base/bits');
const { NO_SLOT } = require('../base/constants');
const { IN_CLOSED, KIND_MASK, OPENED_GENERATION, OUT_FLAG_RESET, OUT_TERMINATE, TLS_TEXTS } = require('../base/layout');
const { socketOf } = require('../compat/tls-socket');
const { hold, release } = require('../reactor/lifetime');
const outbox = require('../reactor/outbox');
const table = require('../reactor/table');
const { JUST_NOW } = require('../reactor/turns');
const { isReadable } = require('../tls/peer-certificate');
const { sessionOf } = require('../tls/session');
const { readPeer } = require('./request');

/** @import { AnySocket, Connection, SentCallback, Server } from '../connection/state' */

/** Of a handshake that failed. */
const NOTHING_AGREED = '\0'.repeat(TLS_TEXTS);

/** @implements {Connection} */
class Secured {
  /** @param {Server} server @param {number} slot @param {Buffer} bytes */
  constructor(server, slot, bytes) {
    this._owner = server;
    this._slot = slot;
    this._generation = 0;
    this._bits = INDIRECT;
    this._turn = JUST_NOW;
    this._accepted = 0;
    this._extra = { callbacks: /** @type {SentCallback[] | null} */ (null), roomUntil: 0, stream: null };
    this._local = this._remote = /** @type {number | string} */ (0);
    this._localPort = this._remotePort = 0;
    this._tlsText = '';
    readPeer(this, slot, bytes, 0);
    this.bufferedAmount = 0;
    this.isPaused = false;
    this.socket = /** @type {AnySocket} */ (/** @type {unknown} */ (socketOf(this)));
  }

  /** rustls reads less of a certificate than OpenSSL, which must not find one that it cannot show. */
  isReadable() {
    return sessionOf(this._tlsText).certificates.every(isReadable);
  }

  pause() {}

  resume() {}

  _ensureExtra() {
    return this._extra;
  }

  /** @param {number} tag */
  _onRecord(tag) {
    if ((tag & KIND_MASK) !== IN_CLOSED) return;
    table.forget(this._slot);
    this._onFailed();
  }

  _onFailed() {
    this._bits |= GONE;
    if (!this.socket._unreferenced) release();
    this.socket._onClosed();
  }

  _destroy() {
    this._bits |= TERMINATED;
    // Without the answer to an upgrade, which may be on its way.
    outbox.pushEmpty(this._slot, this._generation, OUT_TERMINATE | OUT_FLAG_RESET);
  }

  terminate() {
    this._destroy();
  }
}

/** The handshake is done: records of the slot go to the result, until the connection opens. @type {(server: Server, slot: number, bytes: Buffer) => Secured} */
function secure(server, slot, bytes) {
  const secured = new Secured(server, slot, bytes);
  table.place(slot, secured);
  hold();
  return secured;
}

/** What listeners of 'secureConnection' have seen, for its next owner. @param {import('./request').Peer} peer */
function takeSecured({ _generation: generation, _slot: slot }) {
  const secured = securedAt(slot, generation);
  if (secured === null) return null;
  // Its next owner keeps the process alive.
  release();
  return secured.socket;
}

/** A listener of 'secureConnection' has destroyed the socket, and the reactor did not know yet. @type {(slot: number, bytes: Buffer, start: number) => boolean} */
function isRefused(slot, bytes, start) {
  return securedAt(slot, bytes.readUInt32LE(start + OPENED_GENERATION))?.socket.destroyed ?? false;
}

/** @type {(slot: number, generation: number) => Secured | null} */
function securedAt(slot, generation) {
  const secured = table.connectionOf(slot);
  return secured instanceof Secured && secured._generation === generation ? secured : null;
}

/** Of a handshake that failed: closed, but with addresses. @type {(server: Server, bytes: Buffer) => AnySocket} */
function failedSocket(server, bytes) {
  const failed = new Secured(server, NO_SLOT, bytes);
  failed._tlsText = NOTHING_AGREED;
  const socket = socketOf(failed);
  void [socket.remoteAddress, socket.localAddress];
  failed._bits |= GONE;
  socket._closed = true;
  return /** @type {AnySocket} */ (/** @type {unknown} */ (socket));
}

module.exports = { failedSocket, isRefused, secure, takeSecured };

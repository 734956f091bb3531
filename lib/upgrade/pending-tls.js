'use strict';

// Connections that have TLS, and no request yet, for 'secureConnection' and 'tlsClientError'.

const { GONE, TERMINATED } = require('../base/bits');
const { NO_SLOT } = require('../base/constants');
const { OUT_FLAG_RESET, TLS_TEXTS } = require('../base/layout');
const { socketOf } = require('../sockets/tls-socket');
const { Endpoint } = require('../connection/endpoint');
const { generationOf } = require('../connection/handshake-info');
const table = require('../reactor/table');
const { isReadable } = require('../tls/peer-certificate');
const { sessionOf } = require('../tls/session');

/** @import { AnySocket, Server } from '../connection/state' */

/** The TLS text of a failed handshake. */
const NOTHING_AGREED = '\0'.repeat(TLS_TEXTS);

class PendingTls extends Endpoint {
  /** rustls checks less of a certificate than OpenSSL. A certificate that OpenSSL cannot read is refused. */
  isReadable() {
    return sessionOf(this._tlsText).certificates.every(isReadable);
  }

  /** Drops the answer to an upgrade, which can be under way. */
  _destroy() {
    super._destroy(OUT_FLAG_RESET);
    this._bits |= TERMINATED;
  }
}

/** The handshake is done: records of the slot go to the result, until the connection opens. @type {(server: Server, slot: number, bytes: Buffer) => PendingTls} */
function beginPending(server, slot, bytes) {
  const pending = new PendingTls(server.options)._take(slot, bytes, 0, { owner: server });
  pending._adopt(socketOf(pending));
  return pending;
}

/** A listener of 'secureConnection' has destroyed the socket, and the reactor did not know yet. @type {(slot: number, bytes: Buffer, start: number) => boolean} */
function isRefused(slot, bytes, start) {
  const pending = table.connectionOf(slot);
  return pending instanceof PendingTls && pending._generation === generationOf(bytes, start) && pending._socket.destroyed;
}

/** Stands for the socket of a failed handshake: closed, with addresses. @type {(server: Server, bytes: Buffer) => AnySocket} */
function failedSocket(server, bytes) {
  const failed = new Endpoint(server.options)._read(NO_SLOT, bytes, 0, { owner: server, tls: NOTHING_AGREED });
  const socket = socketOf(failed);
  void [socket.remoteAddress, socket.localAddress];
  failed._bits |= GONE;
  socket._closed = true;
  return socket;
}

module.exports = { failedSocket, isRefused, beginPending };

'use strict';

// A process keeps HTTP connections, and upgrades that the program decides about, when the next one has its port. They all end.

const { SERVICE_RESTART } = require('../base/layout');
const { kPort, kSession, kUpgrade, kWebSocket } = require('../base/constants');
const { connectionsBy } = require('../connection/clients');
const { isHttp2 } = require('../listen/http2');
const { state } = require('../reactor/reactors');
const { connections } = require('../reactor/table');
const { linesOf, plainAnswer } = require('../upgrade/handshake');

/** @import { AnySocket, Server } from '../connection/state' */

/** Milliseconds for connections without a request. */
const IDLE = 1000;
/** For upgrades without an answer, parts of a head, and a session that does not answer. */
const DECIDING = 10_000;
/** For everything. */
const LONGEST = 300_000;

/** GOAWAY without an error: the peer begins no more streams. */
const LAST_STREAMS = Buffer.from('0000080700000000007fffffff00000000', 'hex');

/** Code of a RST_STREAM (RFC 9113, 7): the client can ask again over another connection. */
const REFUSED_STREAM = 7;

class Remains {
  /** @param {Server} server The port */
  constructor(server) {
    this.server = server;
    /** Connections of the HTTP server, and the bytes written before the last upgrade. @type {Map<AnySocket, number>} */
    this.sockets = new Map();
  }

  /** @param {AnySocket} socket */
  add(socket) {
    socket[kPort] = this.server;
    this.sockets.set(socket, 0);
    socket.once('close', () => this.sockets.delete(socket));
  }

  /** Its requests from the second one on. @param {AnySocket} socket */
  watch(socket) {
    const { parser } = socket;
    const onIncoming = parser?.onIncoming;
    if (typeof onIncoming !== 'function') return;
    parser.onIncoming = (/** @type {any} */ request, /** @type {boolean} */ keepsAlive) => {
      if (request.upgrade) this.sockets.set(socket, socket.bytesWritten);
      return onIncoming(request, keepsAlive);
    };
  }

  /** The port is frozen: connections without a request move with it, and others end with their answer. */
  giveBack() {
    // 0: for ever, as in Node.
    const kept = /** @type {any} */ (this.server.options.http)?.keepAliveTimeout || Infinity;
    for (const socket of this.idle()) {
      try {
        const { remoteAddress: address, remoteFamily: family, remotePort: port } = socket;
        const client = this.server.options.proxyProtocol ? `${family === 'IPv6' ? `[${address}]` : address}:${port}` : null;
        state.native.giveBack(this.server._listenerId, /** @type {any} */ (socket)._handle.fd, client, kept);
        socket.destroy();
      } catch {
        // No descriptors are left: it stays.
      }
    }
    for (const { _httpMessage: response, parser } of this.rest()) {
      // In a pipeline, another request follows.
      if (response && response.req === parser?.incoming) response.shouldKeepAlive = false;
    }
  }

  /** Connections that wait for a request, as `closeIdleConnections()` finds them. @returns {AnySocket[]} */
  idle() {
    /** @type {any} */
    const http = this.server.options.http ?? {};
    const key = Object.getOwnPropertySymbols(http).find(({ description }) => description === 'http.server.connections');
    /** @type {AnySocket[]} */
    const sockets = key === undefined ? [] : http[key].idle().map((/** @type {{ socket: AnySocket }} */ parser) => parser.socket);
    // Without an answer, bytes that a reactor has read can be on their way to it.
    const waits = (/** @type {any} */ { _httpMessage: response, bytesWritten, readable, readableLength, writable, writableLength }) =>
      readable && writable && !response && bytesWritten !== 0 && readableLength + writableLength === 0;
    return sockets.filter((socket) => this.sockets.has(socket) && waits(socket));
  }

  /** The next process has the port. */
  end() {
    const { server } = this;
    for (const ws of connectionsBy(server)) ws.close(SERVICE_RESTART);
    later(DECIDING, () => this.endUndecided());
    later(LONGEST, () => {
      for (const socket of [...this.rest(), ...this.upgrades().map(({ _socket }) => _socket)]) socket.destroy();
    });
    /** @type {any} */
    const { http } = server.options;
    if (!http) return;
    // Its WebSocketServers have closed: the program would answer an upgrade with 200 as any other request.
    http.on('upgrade', (/** @type {any} */ request, /** @type {any} */ socket) => {
      if (http.listenerCount('upgrade') !== 1) return;
      if (isHttp2(http)) socket.close(REFUSED_STREAM);
      else refuse(socket);
    });
    if (isHttp2(http)) {
      for (const socket of this.sockets.keys()) endSession(socket);
      return;
    }
    // Those that seem idle can have sent a request by now.
    later(IDLE, () => {
      for (const socket of this.idle()) socket.destroy();
    });
    // A connection with a request under way ends with the next one: others could keep it, and this process, for ever.
    http.prependListener('request', (/** @type {any} */ request, /** @type {any} */ response) => {
      if (request.socket[kPort] === server) response.shouldKeepAlive = false;
    });
  }

  endUndecided() {
    for (const upgrade of this.upgrades()) if (upgrade._accepted === 0) upgrade.respond(unavailable());
    for (const socket of this.rest()) {
      const { _httpMessage: response, bytesWritten, parser, [kSession]: session } = socket;
      // An upgrade has no parser any more.
      if (!parser && session === undefined && bytesWritten === this.sockets.get(socket)) refuse(socket);
      else if (parser && !response) socket.destroy();
    }
  }

  /** Requests that a reactor has read. @returns {any[]} */
  upgrades() {
    return connections().filter((one) => {
      const { owner, via } = one._profile.shared;
      return (via ?? owner) === this.server && one._socket?.[kUpgrade] === one;
    });
  }

  /** Connections that no WebSocket has taken over. @returns {any[]} */
  rest() {
    return [...this.sockets.keys()].filter((socket) => socket[kWebSocket] === undefined);
  }
}

/**
 * New streams go to the next process, over another connection. Those that are on the way are served before the GOAWAY that counts
 * them (RFC 9113, 6.8).
 *
 * @param {AnySocket} socket
 */
function endSession(socket) {
  const { [kSession]: session } = socket;
  if (session === undefined || session.closed || session.destroyed) return;
  // Node writes whole frames. A GOAWAY of its own would have all later streams ignored.
  socket.write(LAST_STREAMS);
  const close = () => session.close();
  session.ping(close);
  later(DECIDING, close);
}

/** @param {AnySocket} socket */
function refuse(socket) {
  socket.end(unavailable(), () => socket.destroy());
}

function unavailable() {
  const { body, headers } = plainAnswer(503);
  return [...linesOf(503, { Connection: 'close', ...headers }), '', body].join('\r\n');
}

/** Keeps no process alive. @type {(after: number, act: () => void) => void} */
function later(after, act) {
  setTimeout(act, after).unref();
}

module.exports = { Remains };

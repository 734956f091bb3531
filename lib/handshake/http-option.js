'use strict';

// The program's HTTP server that gets connections of a WebSocketServer's port.

const { Server } = require('node:http');
const { inspect } = require('node:util');

const { wrongType } = require('../base/checks');

/** @import EventEmitter from 'node:events' */
/** @import { AnySocket } from '../connection/state' */

/** Key, of an option: the HTTP server gets all connections, and answers upgrades too. */
const kAll = Symbol('all');

/** @type {(server: unknown, label: string) => void} @throws {TypeError} */
function checkHttp(server, label) {
  if (server instanceof require('node:https').Server) {
    throw new TypeError(
      `${label} must not be an https.Server, whose TLS would not be used: give 'tls' to the WebSocketServer and here an http.Server`,
    );
  }
  if (!(server instanceof Server)) throw wrongType(label, 'an http.Server', server);
  if (server.listening) {
    throw new TypeError(`${label} must not listen by itself: it gets connections of options.port. It listens on ${place(server)}`);
  }
}

/** @param {unknown} server */
function place(server) {
  return inspect(/** @type {Server} */ (server).address(), { breakLength: Infinity });
}

/** The server gets a connection, as if it had accepted it. @type {(server: EventEmitter, socket: AnySocket) => void} */
function connect(server, socket) {
  socket.server = server;
  server.emit('connection', socket);
}

/** Node looks for slow requests from 'listening' on, which this server does not emit. @param {EventEmitter} server */
function startChecks(server) {
  for (const listener of server.listeners('listening')) {
    if (listener.name === 'setupConnectionsTracking') Reflect.apply(listener, server, []);
  }
}

module.exports = { checkHttp, connect, kAll, startChecks };

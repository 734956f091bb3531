'use strict';

const { connections } = require('../reactor/table');

/** @import { Server, WebSocket } from './state' */

let opened = 0;

/** The server while this package, not the program, reads its `clients`. @type {Server | null} */
let ownReader = null;

/** @type {(server: Server, ws: WebSocket) => void} */
function track(server, ws) {
  ws._order = ++opened;
  clientsOf(server)?.add(ws);
  joinBroadcast(ws);
}

/** A program's `setSocket()` can open it long after it has become a client. @param {WebSocket} ws */
function joinBroadcast(ws) {
  ws._owner?._topics?.broadcastTopic?.joinBroadcast(ws);
}

/**
 * The server's list, or the program's replacement. Null until the program reads it; undefined without
 * `clientTracking`.
 *
 * @type {(server: Server) => Set<WebSocket> | null | undefined}
 */
function clientsOf(server) {
  ownReader = server;
  const clients = Reflect.get(server, 'clients');
  ownReader = null;
  return clients;
}

/**
 * Keeps a list from now on: the program asks, or a client is about to leave the table. Undefined without
 * `clientTracking`.
 *
 * @type {(server: Server) => Set<WebSocket> | undefined}
 */
function list(server) {
  if (server._clients === null) {
    server._clients = new Set(connectionsInTable(server).sort((one, other) => one._order - other._order));
  }
  return server._clients;
}

/** WebSockets with a slot. @param {Server} server */
function connectionsInTable(server) {
  /** @type {any[]} */
  const all = connections();
  return all.filter((one) => one._order > 0 && one._owner === server);
}

/** The WebSockets with a slot that a port accepted. @param {Server} port */
function connectionsBy(port) {
  /** @type {any[]} */
  const all = connections();
  return all.filter((one) => one._order > 0 && (one._profile.shared.via ?? one._owner) === port);
}

/** Connections until 'close', also without `clientTracking`. @type {typeof connectionsInTable} */
function connectionsOf(server) {
  const tracked = clientsOf(server);
  return tracked ? [...tracked] : connectionsInTable(server);
}

/** A list takes 70 bytes per connection, and few programs look at it. @type {any} */
const property = {
  __proto__: null,
  configurable: true,
  enumerable: true,

  /** @this {Server} */
  get() {
    return ownReader === this ? this._clients : list(this);
  },

  /** @type {(this: Server, clients: Set<WebSocket>) => void} */
  set(clients) {
    this._clients = clients;
  },
};

/** `clients` is null where the table has the connections. @type {(server: Server, clients: Set<WebSocket> | null) => void} */
function trackClients(server, clients) {
  // A subclass can have its own accessor.
  if ('clients' in server) {
    server.clients = clients ?? new Set();
    return;
  }
  server._clients = clients;
  Object.defineProperty(server, 'clients', property);
}

module.exports = { clientsOf, connectionsBy, connectionsOf, list, track, trackClients, joinBroadcast };

'use strict';

const { state } = require('../reactor/table');

/** @import { Server, WebSocket } from './state' */

/** How many connections of listeners have opened so far. */
let opened = 0;

/** All connections over streams. @type {Set<WebSocket>} */
const streams = new Set();

/** The server whose `clients` this package reads, not the program. @type {Server | null} */
let looked = null;

/**
 * Makes a connection a client of its server.
 *
 * @param {Server} server The owner of the connection
 * @param {WebSocket} ws A connection that has just opened
 */
function track(server, ws) {
  ws._order = ++opened;
  clientsOf(server)?.add(ws);
  welcome(ws);
}

/**
 * Makes a connection that has just opened a recipient of broadcasts. A `setSocket()` of the program
 * may open it long after it has become a client.
 *
 * @param {WebSocket} ws An open connection, or one that opens later
 */
function welcome(ws) {
  ws._owner?._topics?.everyone?.welcome(ws);
}

/**
 * The list of a server. The program may have put a list of its own there.
 *
 * @param {Server} server A WebSocketServer
 * @returns {Set<WebSocket> | null | undefined} null before the program has looked at it, undefined
 *   without `clientTracking`
 */
function clientsOf(server) {
  looked = server;
  const { clients } = /** @type {{ clients?: Set<WebSocket> | null }} */ (/** @type {unknown} */ (server));
  looked = null;
  return clients;
}

/**
 * Makes a server keep a list of its clients, because the program asks for it, or because a client
 * is about to leave the table of connections.
 *
 * @param {Server} server A WebSocketServer
 * @returns {Set<WebSocket> | undefined} undefined without `clientTracking`
 */
function list(server) {
  if (server._clients === null) {
    const clients = /** @type {WebSocket[]} */ (state.connections).filter((one) => one?._order > 0 && one._owner === server);
    server._clients = new Set(clients.sort((one, other) => one._order - other._order));
  }
  return server._clients;
}

/**
 * @param {Server} server A WebSocketServer
 * @returns {WebSocket[]} Its connections until 'close', also without `clientTracking`
 */
function connectionsOf(server) {
  const tracked = clientsOf(server);
  if (tracked) return [...tracked];
  const all = /** @type {Array<WebSocket | undefined>} */ ([...state.connections, ...state.adopted, ...streams]);
  return /** @type {WebSocket[]} */ (all.filter((one) => one !== undefined && one._order > 0 && one._owner === server));
}

/**
 * The property `clients`. A list takes 70 bytes for each connection, and few programs look at it.
 */
const property = {
  __proto__: /** @type {unknown} */ (null),
  configurable: true,
  enumerable: true,

  /** @this {Server} */
  get() {
    return looked === this ? this._clients : list(this);
  },

  /**
   * @this {Server}
   * @param {Set<WebSocket>} clients The value that the program assigns
   */
  set(clients) {
    this._clients = clients;
  },
};

/**
 * Gives a server its `clients`.
 *
 * @param {Server} server A new WebSocketServer with `clientTracking`
 * @param {Set<WebSocket> | null} clients The list; null where the table has its connections
 */
function trackClients(server, clients) {
  // A subclass may have an accessor of its own.
  if ('clients' in server) {
    server.clients = clients ?? new Set();
    return;
  }
  server._clients = clients;
  Object.defineProperty(server, 'clients', property);
}

module.exports = { clientsOf, connectionsOf, list, streams, track, trackClients, welcome };

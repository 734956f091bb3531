'use strict';

const { state } = require('../reactor/table');

/** @import { Server, WebSocket } from './state' */
/** @import { Holder } from '../reactor/table' */

/** How many connections of listeners have opened. */
let opened = 0;

/** The server whose `clients` this package looks at itself. @type {Server | null} */
let looked = null;

/**
 * A connection is a client of its server from now on.
 *
 * @param {Server} server
 * @param {WebSocket} ws
 */
function track(server, ws) {
  ws._order = ++opened;
  clientsOf(server)?.add(ws);
}

/**
 * The list that a server has, which may be one that its user has put there, by whatever means.
 *
 * @param {Server} server
 * @returns {Set<Holder> | null | undefined} null before anything has looked at it, undefined
 *   without clientTracking
 */
function clientsOf(server) {
  looked = server;
  const { clients } = /** @type {any} */ (server);
  looked = null;
  return clients;
}

/**
 * Has a server keep a list of its clients, because somebody asks or because the table of
 * connections will not tell them any more.
 *
 * @param {Server} server
 * @returns {Set<Holder> | undefined} undefined without clientTracking
 */
function list(server) {
  if (server._clients === null) {
    const clients = state.connections.filter((one) => one?._order > 0 && one._owner === server);
    server._clients = new Set(clients.sort((one, other) => one._order - other._order));
  }
  return server._clients;
}

/** A list for each connection that opens is 70 bytes that most servers never look at. */
const property = {
  __proto__: /** @type {any} */ (null),
  configurable: true,
  enumerable: true,

  /** @this {any} */
  get() {
    return looked === this ? this._clients : list(this);
  },

  /** @this {any} @param {any} clients */
  set(clients) {
    this._clients = clients;
  },
};

/**
 * Gives a server its `clients`.
 *
 * @param {Server} server
 * @param {Set<Holder> | null} clients null: its connections are in the table
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

module.exports = { clientsOf, list, track, trackClients };

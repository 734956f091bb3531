'use strict';

const reactor = require('./reactor');

/** How many connections of listeners have opened. */
let opened = 0;

/**
 * A connection of a listener is a client of its server from now on.
 *
 * @param {any} server
 * @param {any} ws
 */
function track(server, ws) {
  ws._order = ++opened;
  if (server._clients !== null) server._clients.add(ws);
}

/**
 * Has a server keep a list of its clients, because somebody asks or because the table of connections will not tell them any more.
 *
 * @param {any} server
 * @returns {Set<any> | undefined} undefined without clientTracking
 */
function list(server) {
  if (server._clients === null) {
    const clients = reactor.state.connections.filter((one) => one?._order > 0 && one._owner === server);
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
    return list(this);
  },

  /** @this {any} @param {any} clients */
  set(clients) {
    this._clients = clients;
  },
};

/**
 * Gives a server its `clients`.
 *
 * @param {any} server
 * @param {Set<any> | null} clients null: its connections are in the table
 */
function trackClients(server, clients) {
  server._clients = clients;
  Object.defineProperty(server, 'clients', property);
}

module.exports = { list, track, trackClients };

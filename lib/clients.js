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
 * The `clients` of a server that listens by itself, put together when somebody asks for them first: 70 bytes of each that nobody
 * asks for.
 *
 * @param {any} server
 * @returns {Set<any>} In the order in which they opened
 */
function clientsOf(server) {
  const clients = reactor.state.connections.filter((connection) => connection?._order > 0 && connection._owner === server);
  return new Set(clients.sort((a, b) => a._order - b._order));
}

module.exports = { clientsOf, track };

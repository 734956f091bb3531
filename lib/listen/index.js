'use strict';

const { checkOptions } = require('../base/checks');
const { kAll } = require('./http-option');
const WebSocketServer = require('../websocket-server');

/** Options of the port. Options of WebSockets belong to the listeners that accept the upgrades. */
const OPTIONS = [
  'backlog',
  'handover',
  'handshakeTimeout',
  'host',
  'ipv6Only',
  'keepAlive',
  'keepAliveInitialDelay',
  'noDelay',
  'port',
  'proxyProtocol',
  'reactors',
  'reusePort',
  'sendBudget',
  'spin',
  'tls',
  'unfinishedBudget',
];

/** @typedef {import('../../types/server').Listener} Listener */

/**
 * Every connection of the port goes to the HTTP server, and its upgrades to the listeners there.
 *
 * @type {(server: import('node:http').Server, options: import('../../types/server').PortOptions, callback?: () => void) => Listener}
 */
function listen(server, options, callback) {
  if (options?.port == null) throw new TypeError('options.port is missing: listen(server, { port })');
  checkOptions(options, OPTIONS);
  /** @type {any} */
  const listener = new WebSocketServer({ ...options, http: server, [kAll]: true }, callback);
  return listener;
}

module.exports = { listen };

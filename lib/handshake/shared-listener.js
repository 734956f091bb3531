'use strict';

const http = require('node:http');

const { sharedListenOptions } = require('../options');

/** @import { ServerOptions } from '../options' */

/** Most milliseconds between two looks for requests that take too long. */
const CHECK_INTERVAL = 1000;

/**
 * Whether this process is a worker of a cluster: its ports are its primary's, which hands
 * connections to the workers.
 *
 * @returns {boolean} Whether it is a worker
 */
function isShared() {
  return require('node:cluster').isWorker;
}

/**
 * Listens as ws does.
 *
 * @param {ServerOptions} options Of a WebSocketServer
 * @param {(() => void) | undefined} callback A listener for 'listening'
 * @returns {http.Server} The HTTP server, which is about to listen
 */
function createListener(options, callback) {
  const { handshakeTimeout, place, tcp } = sharedListenOptions(options);
  const limits = {
    ...tcp,
    connectionsCheckingInterval: Math.min(handshakeTimeout, CHECK_INTERVAL),
    headersTimeout: handshakeTimeout,
    requestTimeout: handshakeTimeout,
  };
  return http.createServer(limits, refuse).listen(place, callback);
}

/**
 * @param {http.IncomingMessage} _request A request other than an upgrade
 * @param {http.ServerResponse} response Its response, of status 426
 */
function refuse(_request, response) {
  const body = http.STATUS_CODES[426];
  response.writeHead(426, { 'Content-Length': Buffer.byteLength(body ?? ''), 'Content-Type': 'text/plain' });
  response.end(body);
}

module.exports = { createListener, isShared };

'use strict';

const http = require('node:http');

const { sharedListenOptions } = require('../options');

/** @import { Server } from '../connection/state' */

/** At most so many milliseconds between two checks for slow requests. */
const CHECK_INTERVAL = 1000;

/** Whether this is a worker of a cluster, to which the primary hands connections. @type {() => boolean} */
function isShared() {
  return require('node:cluster').isWorker;
}

/** Listens as ws does. @type {(server: Server, callback: (() => void) | undefined) => http.Server} */
function createListener(server, callback) {
  const { handshakeTimeout, healthCheck, place, tcp } = sharedListenOptions(server.options);
  const limits = {
    ...tcp,
    connectionsCheckingInterval: Math.min(handshakeTimeout, CHECK_INTERVAL),
    headersTimeout: handshakeTimeout,
    requestTimeout: handshakeTimeout,
  };
  return http.createServer(limits, answer).listen(place, callback);

  /** @type {(request: http.IncomingMessage, response: http.ServerResponse) => void} */
  function answer({ method, url }, response) {
    const asksHealth = (method === 'GET' || method === 'HEAD') && url?.split('?')[0] === healthCheck;
    const status = asksHealth ? (server._drain?.refuses || !server._isRunning() ? 503 : 200) : 426;
    const body = String(http.STATUS_CODES[status]);
    response.writeHead(status, { 'Content-Length': Buffer.byteLength(body), 'Content-Type': 'text/plain' });
    response.end(body);
  }
}

module.exports = { createListener, isShared };

'use strict';

const http = require('node:http');

const { sharedListenOptions } = require('../options');

/** @import { IncomingMessage } from 'node:http' */
/** @import { Server } from '../connection/state' */

/** Most milliseconds between checks for slow requests. */
const CHECK_INTERVAL = 1000;

/** The WebSocketServers of each HTTP server, oldest first. @type {WeakMap<object, Set<Server>>} */
const attached = new WeakMap();

/**
 * Takes upgrade requests of an HTTP server, and forwards 'listening' and 'error'. The result ends that.
 *
 * @type {(wss: Server, server: import('node:events').EventEmitter) => () => void}
 */
function takeUpgrades(wss, server) {
  const siblings = attached.get(server) || new Set();
  attached.set(server, siblings.add(wss));
  const emitConnection = wss.emit.bind(wss, 'connection');
  const listeners = Object.entries({
    listening: wss.emit.bind(wss, 'listening'),
    error: wss.emit.bind(wss, 'error'),
    ...(wss._tls === null ? {} : ofTls(wss)),
    upgrade(/** @type {IncomingMessage} */ request, /** @type {import('node:stream').Duplex} */ socket, /** @type {Buffer} */ head) {
      if (isFor(wss, request, siblings)) wss.handleUpgrade(request, socket, head, emitConnection);
    },
  });
  for (const [event, listener] of listeners) server.on(event, listener);
  return () => {
    siblings.delete(wss);
    for (const [event, listener] of listeners) server.removeListener(event, listener);
  };
}

/**
 * Each server gets its own requests; the first also gets, and refuses, what none handles. In ws, each refuses the
 * requests of the others.
 *
 * @type {(wss: Server, request: IncomingMessage, siblings: Set<Server>) => boolean}
 */
function isFor(wss, request, siblings) {
  if (siblings.size < 2 || wss.shouldHandle(request)) return true;
  const [first] = siblings;
  return wss === first && ![...siblings].some((other) => other !== wss && other.shouldHandle(request));
}

/** @param {Server} wss */
function ofTls(wss) {
  return Object.fromEntries(['secureConnection', 'tlsClientError'].map((event) => [event, wss.emit.bind(wss, event)]));
}

/** In a worker of a cluster, the primary hands over connections. @returns {boolean} */
function isShared() {
  return require('node:cluster').isWorker;
}

/** Listens as ws does. @type {(server: Server, callback?: () => void) => http.Server} */
function createListener(server, callback) {
  const { handshakeTimeout, healthCheck, place, tcp } = sharedListenOptions(server.options);
  const limits = {
    ...tcp,
    connectionsCheckingInterval: Math.min(handshakeTimeout, CHECK_INTERVAL),
    headersTimeout: handshakeTimeout,
    requestTimeout: handshakeTimeout,
  };
  const tls = /** @type {InstanceType<typeof import('../tls/node').NodeTls> | null} */ (server._tls);
  const listener = tls === null ? http.createServer(limits, answer) : tls.createServer(limits, answer);
  return listener.listen(place, callback);

  /** @type {(request: http.IncomingMessage, response: http.ServerResponse) => void} */
  function answer({ method, url }, response) {
    const asksHealth = (method === 'GET' || method === 'HEAD') && url?.split('?')[0] === healthCheck;
    const status = asksHealth ? (server._drain?.refuses || !server._isRunning() ? 503 : 200) : 426;
    const body = String(http.STATUS_CODES[status]);
    response.writeHead(status, { 'Content-Length': Buffer.byteLength(body), 'Content-Type': 'text/plain' });
    response.end(body);
  }
}

module.exports = { createListener, isShared, takeUpgrades };

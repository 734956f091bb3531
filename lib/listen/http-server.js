'use strict';

const http = require('node:http');
const https = require('node:https');
const net = require('node:net');
const { createServer } = require('node:tls');

const { EMPTY_BUFFER } = require('../base/constants');
const { emitUpgrades, isHttp2 } = require('./http2');
const { plainAnswer } = require('../upgrade/handshake');
const { connect, optionsFor, takeLaterUpgrades } = require('./http-option');
const { nodeTarget } = require('./listen-target');

/** @import EventEmitter from 'node:events' */
/** @import { IncomingMessage } from 'node:http' */
/** @import { Duplex } from 'node:stream' */
/** @import { Server } from '../connection/state' */

/** Most milliseconds between checks for slow requests. */
const CHECK_INTERVAL = 1000;

/** The WebSocketServers of each HTTP server, oldest first. @type {WeakMap<object, Set<Server>>} */
const attached = new WeakMap();

/**
 * Takes upgrade requests of a server, and forwards 'listening' and 'error'. The result ends that.
 *
 * @type {(wss: Server, server: EventEmitter) => () => void}
 */
function takeOver(wss, server) {
  const { http: given } = wss.options;
  const events = ['listening', 'error', ...(wss._tls === null ? [] : ['secureConnection', 'tlsClientError'])];
  const listeners = events.map((event) => /** @type {const} */ ([event, wss.emit.bind(wss, event)]));
  for (const [event, listener] of listeners) server.on(event, listener);
  const leave = given ? takeLaterUpgrades(wss, given) : takeUpgrades(wss, server);
  return () => {
    leave();
    for (const [event, listener] of listeners) server.removeListener(event, listener);
  };
}

/** @type {(wss: Server, server: EventEmitter) => () => void} */
function takeUpgrades(wss, server) {
  if (isHttp2(server)) emitUpgrades(server);
  const emitConnection = wss.emit.bind(wss, 'connection');
  const siblings = attached.get(server) || new Set();
  attached.set(server, siblings.add(wss));
  /** @type {(request: IncomingMessage, socket: Duplex, head: Buffer) => void} */
  const listener = (request, socket, head) => {
    if (isFor(wss, request, siblings)) wss.handleUpgrade(request, socket, head, emitConnection);
  };
  server.on('upgrade', listener);
  return () => {
    siblings.delete(wss);
    server.removeListener('upgrade', listener);
  };
}

/**
 * Each server gets its own requests; the first one also gets, and refuses, requests that none handles. In ws, each refuses the
 * requests of the others.
 *
 * @type {(wss: Server, request: IncomingMessage, siblings: Set<Server>) => boolean}
 */
function isFor(wss, request, siblings) {
  if (siblings.size < 2 || wss.shouldHandle(request)) return true;
  const [first] = siblings;
  return wss === first && ![...siblings].some((other) => other !== wss && other.shouldHandle(request));
}

/** In a worker of a cluster, the primary hands over connections. @returns {boolean} */
function isShared() {
  return require('node:cluster').isWorker;
}

/**
 * Listens for the server of option `http`.
 *
 * @type {(http: EventEmitter, tcp: object, tls: InstanceType<typeof import('../tls/node').NodeTls> | null) => net.Server}
 */
function createHandoffServer(http, tcp, tls) {
  const options = { ...tcp, ...optionsFor(http) };
  const handOff = (/** @type {net.Socket} */ socket) => connect(http, socket, EMPTY_BUFFER);
  return tls === null ? net.createServer(options, handOff) : tls.createServer(options, handOff, createServer);
}

/** Listens as ws does, or for the server of option `http`. @type {(server: Server, callback?: () => void) => net.Server} */
function createListener(server, callback) {
  const { handshakeTimeout, healthCheck, tcp } = server._settings;
  const { http: given } = server.options;
  const limits = {
    ...tcp,
    connectionsCheckingInterval: Math.min(handshakeTimeout, CHECK_INTERVAL),
    headersTimeout: handshakeTimeout,
    requestTimeout: handshakeTimeout,
  };
  /** @type {any} */
  const tls = server._tls;
  const listener = given ? createHandoffServer(given, tcp, tls) : tls === null ? http.createServer(limits, onRequest) : tls.createServer(limits, onRequest, https.createServer);
  return listener.listen(nodeTarget(server.options, server._settings), callback);

  /** @type {(request: http.IncomingMessage, response: http.ServerResponse) => void} */
  function onRequest({ method, url }, response) {
    const asksHealth = (method === 'GET' || method === 'HEAD') && url?.split('?')[0] === healthCheck;
    const status = asksHealth ? (server._drain || !server._isRunning() ? 503 : 200) : 426;
    const { body, headers } = plainAnswer(status);
    response.writeHead(status, headers);
    response.end(body);
  }
}

module.exports = { createListener, isShared, takeOver };

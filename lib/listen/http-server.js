'use strict';

const http = require('node:http');
const https = require('node:https');
const net = require('node:net');
const { createServer } = require('node:tls');

const { EMPTY_BUFFER } = require('../base/constants');
const { addon } = require('../reactor/addon');
const { plainAnswer } = require('../upgrade/handshake');
const { optionsFor } = require('./http-option');
const { nodeTarget } = require('./listen-target');
const { takeUpgrades, upgradesOf } = require('./routes');

/** @import EventEmitter from 'node:events' */
/** @import { Server } from '../connection/state' */

/** Most milliseconds between checks for slow requests. */
const CHECK_INTERVAL = 1000;

/**
 * Takes upgrade requests of a server, and forwards 'listening' and 'error'. The result ends that.
 *
 * @type {(wss: Server, server: EventEmitter) => () => void}
 */
function takeOver(wss, server) {
  const events = ['listening', 'error', ...(wss._tls === null ? [] : ['secureConnection', 'tlsClientError'])];
  const listeners = events.map((event) => /** @type {const} */ ([event, wss.emit.bind(wss, event)]));
  for (const [event, listener] of listeners) server.on(event, listener);
  const leave = takeUpgrades(wss, server);
  return () => {
    leave();
    for (const [event, listener] of listeners) server.removeListener(event, listener);
  };
}

/**
 * Listens for the server of option `http`.
 *
 * @type {(http: EventEmitter, tcp: object, tls: InstanceType<typeof import('../tls/node').NodeTls> | null) => net.Server}
 */
function createHandoffServer(http, tcp, tls) {
  const options = { ...tcp, ...optionsFor(http, tls) };
  const handOff = (/** @type {net.Socket} */ socket) => upgradesOf(http).give(socket, EMPTY_BUFFER);
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
    const status = addon().plainStatus(String(method), String(url), healthCheck, server._drain !== null || !server._isRunning());
    const { body, headers } = plainAnswer(status);
    response.writeHead(status, headers);
    response.end(body);
  }
}

module.exports = { createListener, takeOver };

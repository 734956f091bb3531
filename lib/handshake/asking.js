'use strict';

// The handshakes of a listener that the reactor leaves to JavaScript.

const EventEmitter = require('node:events');

const { areRefusalsSeen } = require('../reactor/diagnostics');
const { nodeEmit } = require('../base/node-emit');
const { hasOwnPong } = require('../options');
const { ASK_ACCEPTED, ASK_DRAINED, ASK_REFUSED } = require('../base/layout');
const { servers } = require('../reactor/table');
const { watchListeners, watchMethods } = require('./watch');
const WebSocket = require('../websocket');

/** @import { Emitting, Server } from '../connection/state' */

const { setSocket } = WebSocket.prototype;

/** Listeners of these events see handshakes. */
const EVENTS = new Set(['headers', 'wsClientError']);

/**
 * The methods of this package that see handshakes. If a server has others, JavaScript decides all
 * its handshakes.
 *
 * @type {Record<string, unknown>}
 */
const OWN = {
  completeUpgrade: null,
  emit: nodeEmit,
  handleUpgrade: null,
  listenerCount: EventEmitter.prototype.listenerCount,
  shouldHandle: null,
};

/** Called before a program can replace the methods. @type {(prototype: Server) => void} */
function knowHooks(prototype) {
  for (const name of /** @type {const} */ (['completeUpgrade', 'handleUpgrade', 'shouldHandle'])) OWN[name] = prototype[name];
}

/**
 * Servers notice when a program wants to see their handshakes: here, or when the next connection
 * opens.
 *
 * @type {(prototype: Server) => void}
 */
function watchHooks(prototype) {
  watchMethods(prototype, Object.keys(OWN), updateAll);
  watchListeners(prototype, function (event) {
    if (event === undefined || EVENTS.has(/** @type {string} */ (event))) this._updateAsk();
  });
}

function updateAll() {
  for (const server of servers()) server._updateAsk();
}

/** The ASK_ bits of a server. @type {(server: Server) => number} */
function wantedAsk(server) {
  const { WebSocket: Class, handleProtocols, path, verifyClient } = server.options;
  // Listeners are read where the emitter keeps them: this runs for every connection that opens.
  const { _events: events } = /** @type {Emitting} */ (server);
  const drained = server._drain?.refuses ? ASK_DRAINED | ASK_ACCEPTED : 0;
  if (isOverridden(server)) return drained | ASK_ACCEPTED | ASK_REFUSED;
  const decides =
    verifyClient ||
    handleProtocols ||
    path !== server._nativePath ||
    server._listener._most != null ||
    server._admission?.asksJavaScript ||
    events.headers !== undefined ||
    Class?.prototype?.setSocket !== setSocket ||
    hasOwnPong(server.options);
  return drained | (decides ? ASK_ACCEPTED : 0) | (events.wsClientError === undefined && !areRefusalsSeen() ? 0 : ASK_REFUSED);
}

/** Whether the program has replaced a method that sees handshakes. @type {(server: Server) => boolean} */
function isOverridden(server) {
  return (
    server.completeUpgrade !== OWN.completeUpgrade ||
    server.emit !== OWN.emit ||
    server.handleUpgrade !== OWN.handleUpgrade ||
    server.listenerCount !== OWN.listenerCount ||
    server.shouldHandle !== OWN.shouldHandle ||
    server._listener.isHandedOn
  );
}

module.exports = { knowHooks, wantedAsk, watchHooks };

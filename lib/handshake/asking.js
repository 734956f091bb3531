'use strict';

// Which handshakes of a listener the reactor leaves to JavaScript.

const EventEmitter = require('node:events');

const { nodeEmit } = require('../node-emit');
const { hasOwnPong } = require('../options');
const { ASK_ACCEPTED, ASK_REFUSED } = require('../reactor/layout');
const { state } = require('../reactor/table');
const { watchListeners } = require('./watched-listeners');
const { watchMethods } = require('./watched-methods');
const { WebSocket } = require('../websocket');

const { setSocket } = WebSocket.prototype;

/** Listeners of these events see handshakes. */
const EVENTS = new Set(['headers', 'wsClientError']);

/**
 * Methods that see handshakes, as they are in this package: a server that has others decides all of them in JavaScript.
 *
 * @type {any}
 */
const OWN = {
  completeUpgrade: null,
  emit: nodeEmit,
  handleUpgrade: null,
  listenerCount: EventEmitter.prototype.listenerCount,
  shouldHandle: null,
};

/**
 * Has servers hear when somebody wants to see their handshakes. What is not heard is seen when a connection opens.
 *
 * @param {any} prototype Of WebSocketServer
 */
function watchHooks(prototype) {
  for (const name of ['completeUpgrade', 'handleUpgrade', 'shouldHandle']) OWN[name] = prototype[name];
  watchMethods(prototype, Object.keys(OWN), updateAll);
  watchListeners(prototype, function (event) {
    if (event === undefined || EVENTS.has(/** @type {string} */ (event))) this._updateAsk();
  });
}

function updateAll() {
  for (const server of state.listeners.values()) server._updateAsk();
}

/**
 * @param {any} server
 * @returns {number} ASK_ bits
 */
function wantedAsk(server) {
  const { WebSocket: Class, handleProtocols, path, verifyClient } = server.options;
  // Looked up in its place: this runs for every connection that opens.
  const { _events: events } = server;
  if (isOverridden(server)) return ASK_ACCEPTED | ASK_REFUSED;
  const decides =
    verifyClient ||
    handleProtocols ||
    path !== server._nativePath ||
    events.headers !== undefined ||
    Class?.prototype?.setSocket !== setSocket ||
    hasOwnPong(server.options);
  return (decides ? ASK_ACCEPTED : 0) | (events.wsClientError === undefined ? 0 : ASK_REFUSED);
}

/**
 * @param {any} server
 * @returns {boolean}
 */
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

module.exports = { wantedAsk, watchHooks };

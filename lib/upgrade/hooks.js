'use strict';

// The handshakes that a reactor leaves to JavaScript.

const EventEmitter = require('node:events');

const { watchListeners } = require('../base/emitter');
const { areRefusalsSeen } = require('../reactor/diagnostics');
const { hasOwnPong } = require('../options');
const { ASK_ACCEPTED, ASK_DRAINED, ASK_REFUSED } = require('../base/layout');
const { servers } = require('../reactor/table');
const WebSocket = require('../websocket');

/** @import { Emitting, Server } from '../connection/state' */

/** Events that the reactors report only if they have listeners. */
/** @type {unknown[]} */
const REPORTED = ['headers', 'secureConnection', 'tlsClientError', 'wsClientError'];

const { setSocket } = WebSocket.prototype;

/**
 * Servers notice at once when a program adds a listener or assigns a method that sees handshakes; anything else, when
 * the next connection opens.
 *
 * @param {Server} prototype
 */
function watchHooks(prototype) {
  watchListeners(prototype, (server, event) => {
    if (REPORTED.includes(event)) server._updateHooks();
  });
  for (const name of ['completeUpgrade', 'emit', 'handleUpgrade', 'listenerCount', 'shouldHandle']) {
    let own = Object.getOwnPropertyDescriptor(prototype, name)?.value;
    /** @type {PropertyDescriptor & ThisType<Server>} */
    const property = {
      configurable: true,
      get: () => own ?? Reflect.get(EventEmitter.prototype, name),
      set(value) {
        if (this === prototype) own = value;
        else Object.defineProperty(this, name, { configurable: true, enumerable: true, value, writable: true });
        for (const server of servers()) server._updateHooks();
      },
    };
    Object.defineProperty(prototype, name, property);
  }
}

/**
 * The ASK_ bits of a server. `own`: our methods that see handshakes. If a server has others, JavaScript decides all its
 * handshakes.
 *
 * @type {(server: Server, own: Record<string, unknown>) => number}
 */
function requiredHooks(server, own) {
  const { WebSocket: Class, handleProtocols, path, verifyClient } = server.options;
  // Read where the emitter keeps them, as this runs for every connection that opens.
  const { _events: events } = /** @type {Emitting} */ (server);
  const drained = server._drain ? ASK_DRAINED | ASK_ACCEPTED : 0;
  let isOverridden = server._listener?.hasOtherListener ?? false;
  for (const name in own) isOverridden ||= /** @type {any} */ (server)[name] !== own[name];
  if (isOverridden) return drained | ASK_ACCEPTED | ASK_REFUSED;
  const decides =
    verifyClient ||
    handleProtocols ||
    path !== server._nativePath ||
    server._listener?._most != null ||
    server._admission?.asksJavaScript ||
    events.headers !== undefined ||
    Class?.prototype?.setSocket !== setSocket ||
    hasOwnPong(server.options);
  return drained | (decides ? ASK_ACCEPTED : 0) | (events.wsClientError === undefined && !areRefusalsSeen() ? 0 : ASK_REFUSED);
}

module.exports = { requiredHooks, watchHooks };

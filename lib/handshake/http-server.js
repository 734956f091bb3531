'use strict';

/** @import { IncomingMessage } from 'node:http' */
/** @import { Server } from '../connection/state' */

/** The WebSocketServers of each HTTP server, oldest first. @type {WeakMap<object, Set<Server>>} */
const attached = new WeakMap();

/**
 * Takes the upgrade requests of an HTTP server, and forwards 'listening' and 'error'.
 *
 * @param {Server} wss
 * @param {import('node:events').EventEmitter} server
 * @returns {() => void} Ends it
 */
function takeUpgrades(wss, server) {
  const siblings = attached.get(server) || new Set();
  attached.set(server, siblings.add(wss));
  const emitConnection = wss.emit.bind(wss, 'connection');
  const listeners = Object.entries({
    listening: wss.emit.bind(wss, 'listening'),
    error: wss.emit.bind(wss, 'error'),
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
 * Whether a server gets a request: each gets its own, and the first also gets, and refuses, what
 * none of them handles. In ws each refuses the requests of the others.
 *
 * @type {(wss: Server, request: IncomingMessage, siblings: Set<Server>) => boolean}
 */
function isFor(wss, request, siblings) {
  if (siblings.size < 2 || wss.shouldHandle(request)) return true;
  const [first] = siblings;
  return wss === first && ![...siblings].some((other) => other !== wss && other.shouldHandle(request));
}

module.exports = { takeUpgrades };

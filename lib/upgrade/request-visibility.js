'use strict';

// The request of 'connection' is made only if a listener could see it, as an IncomingMessage takes 800 bytes. Otherwise
// a handshake would take 1.11 to 1.25 times the CPU time of this thread, and each of 10,000 idle connections 1,117
// bytes instead of 733 (benchmark/NOTES.md).

const { isProxy } = require('node:util').types;

const diagnostics = require('../reactor/diagnostics');
const { nodeEmit } = require('../base/node-emit');
const { requestText } = require('../connection/handshake-info');
const { UpgradeRequest } = require('./request');

/** @import { Emitting, Server, WebSocket } from '../connection/state' */

/** @typedef {string | InstanceType<typeof UpgradeRequest>} Early */

const { toString } = Function.prototype;

/** A function with exactly one parameter: an identifier without a default. */
const ONE_PARAMETER =
  /^(?:async\s+)?(?:(?:[A-Za-z_$][\w$]*|\(\s*[A-Za-z_$][\w$]*\s*,?\s*\))\s*=>|function(?:\s+[A-Za-z_$][\w$]*)?\s*\(\s*[A-Za-z_$][\w$]*\s*,?\s*\)\s*\{)/;

/** Names that lead to other arguments, and escapes that could write them. */
const OTHER_ACCESS = /\b(?:arguments|eval)\b|\\u/;

/** Results by listener. @type {WeakMap<Function, boolean>} */
const judged = new WeakMap();

/** False only if the source of a listener proves that it cannot see its second argument. @param {Function} listener */
function usesSecondArgument(listener) {
  let sees = judged.get(listener);
  if (sees === undefined) {
    const source = isProxy(listener) ? '' : toString.call(listener);
    sees = !ONE_PARAMETER.test(source) || OTHER_ACCESS.test(source);
    judged.set(listener, sees);
  }
  return sees;
}

/** Whether only listeners see its events. @param {Server} server */
function isPlain(server) {
  return server.emit === nodeEmit && !server._capturesRejections;
}

/** @param {Server} server */
function isRequestSeen(server) {
  if (!isPlain(server)) return true;
  // Not `rawListeners()`, which makes an array.
  const { connection: listeners } = /** @type {Emitting} */ (server)._events;
  if (listeners === undefined) return false;
  return typeof listeners === 'function' ? usesSecondArgument(listeners) : listeners.some(usesSecondArgument);
}

/** The request that `emitConnection` will need, or its text if it seems to need none. @type {(server: Server, ws: WebSocket, bytes: Buffer, start: number) => Early} */
function requestAhead(server, ws, bytes, start) {
  const text = requestText(bytes, start);
  return isRequestSeen(server) ? new UpgradeRequest(text, ws) : text;
}

/**
 * A single listener is called without `emit`: that makes an array of arguments, 64 bytes of garbage.
 *
 * @type {(server: Server, ws: WebSocket, bytes: Buffer, start: number, early?: Early | null) => void}
 */
function emitConnection(server, ws, bytes, start, early = null) {
  const isSeen = isRequestSeen(server) || diagnostics.isRequestSeen();
  let request = null;
  if (isSeen) request = typeof early === 'object' && early !== null ? early : new UpgradeRequest(early ?? requestText(bytes, start), ws);
  diagnostics.opened(ws, request);
  const { connection: listener } = /** @type {Emitting} */ (server)._events;
  if (typeof listener === 'function' && isPlain(server)) Reflect.apply(listener, server, [ws, request]);
  else server.emit('connection', ws, request);
}

module.exports = { emitConnection, isRequestSeen, requestAhead, usesSecondArgument };

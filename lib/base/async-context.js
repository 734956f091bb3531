'use strict';

const { AsyncResource } = require('node:async_hooks');

const { INDIRECT } = require('./bits');

/** @import { WebSocket } from '../connection/state' */

/** Symbols that every AsyncResource has. @type {Set<unknown>} */
const IDS = new Set(['async_id_symbol', 'trigger_async_id_symbol']);

/** Tools that look for what keeps a process alive call `hasRef` of each resource. */
class Context extends AsyncResource {
  hasRef() {
    return false;
  }
}

const create = () => new Context('WebSocket', { requireManualDestroy: true });

/** The context in which the package was loaded, for calls from a reactor's thread. */
const root = create();

/**
 * The current context, for later events; null if no AsyncLocalStorage has a store. A store adds a symbol to each
 * AsyncResource.
 *
 * @type {() => AsyncResource | null}
 */
function capture() {
  const resource = create();
  const hasStore = Object.getOwnPropertySymbols(resource).some(
    (symbol) => Reflect.get(resource, symbol) !== undefined && !IDS.has(symbol.description),
  );
  return hasStore ? resource : null;
}

/** The callback, for a call from another context. @type {(callback: any) => any} */
function bind(callback) {
  const context = capture();
  return context === null ? callback : context.runInAsyncScope.bind(context, callback, null);
}

/** @type {(ws: WebSocket, context: AsyncResource | null) => void} */
function setContext(ws, context) {
  if (context === null) return;
  ws._ensureExtra().context = context;
  ws._bits |= INDIRECT;
}

/** @type {<A, B, C>(ws: WebSocket, call: (ws: WebSocket, a: A, b: B, c: C) => void, a?: A, b?: B, c?: C) => void} */
function inContext(ws, call, a, b, c) {
  const context = ws._extra === null ? null : ws._extra.context;
  if (context === null) /** @type {Function} */ (call)(ws, a, b, c);
  else context.runInAsyncScope(call, null, ws, a, b, c);
}

module.exports = { bind, capture, inContext, root, setContext };

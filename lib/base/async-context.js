'use strict';

const { AsyncResource } = require('node:async_hooks');

const { INDIRECT } = require('./bits');

/** @import { WebSocket } from '../connection/state' */

/** Symbols that every AsyncResource has. */
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

/** The key of the stores in an AsyncResource of Node 24 and later, where a flag is for the other way; Node 22 has a flag for this one. */
const FRAME = Object.getOwnPropertySymbols(root).find(({ description }) => description === 'context_frame');
const HAS_FRAMES =
  FRAME !== undefined &&
  (parseInt(process.versions.node, 10) >= 24 || [...process.execArgv, process.env.NODE_OPTIONS].some((option) => option?.includes('async-context-frame')));

/** Stores that handlers have entered, by their keys in `delivery`, before Node 24. @type {PropertyKey[]} */
const entered = [];

/**
 * The context of a delivery, which is for one connection after another. Before Node 24, an AsyncLocalStorage keeps its
 * store in the current resource: a key that this one lacks is set through its prototype.
 */
const delivery = Object.setPrototypeOf(create(), new Proxy(Context.prototype, {
  set(_prototype, key, value, resource) {
    entered.push(key);
    return Reflect.defineProperty(resource, key, { configurable: true, enumerable: true, value, writable: true });
  },
}));
for (const key of Object.getOwnPropertySymbols(delivery)) {
  if (key === FRAME) delivery[key] = undefined;
  else if (!IDS.has(/** @type {string} */ (key.description))) delete delivery[key];
}

/** The next handler is for another connection, which must not see the store that one has entered. */
function leaveStores() {
  while (entered.length !== 0) delete delivery[/** @type {PropertyKey} */ (entered.pop())];
}

/** Whether a handler has entered a store that only the end of `delivery.runInAsyncScope` leaves. */
function hasEntered() {
  return HAS_FRAMES && /** @type {any} */ (create())[/** @type {symbol} */ (FRAME)] !== undefined;
}

/**
 * The current context, for later events; null if no AsyncLocalStorage has a store. A store adds a symbol to each
 * AsyncResource.
 *
 * @type {() => AsyncResource | null}
 */
function capture() {
  const resource = /** @type {AsyncResource & Record<symbol, unknown>} */ (/** @type {unknown} */ (create()));
  const hasStore = Object.getOwnPropertySymbols(resource).some(
    (symbol) => resource[symbol] !== undefined && !IDS.has(/** @type {string} */ (symbol.description)),
  );
  return hasStore ? resource : null;
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

module.exports = { capture, create, delivery, entered, hasEntered, inContext, leaveStores, root, setContext };

'use strict';

const { AsyncResource } = require('node:async_hooks');

const { CONTEXT } = require('./bits');

/** What every AsyncResource has. */
const IDS = new Set(['async_id_symbol', 'trigger_async_id_symbol']);

/** Tools that look for what keeps a process alive ask the resources of async_hooks: these do not. */
class Context extends AsyncResource {
  hasRef() {
    return false;
  }
}

const create = () => new Context('WebSocket', { requireManualDestroy: true });

/** The context in which the package was loaded. What the reactor thread calls runs in it. */
const root = create();

/**
 * The context that runs now, for the events of a connection to run in later. Only if some AsyncLocalStorage has a store in
 * it: that is what an AsyncResource has a property more for, on every version of Node.
 *
 * @returns {AsyncResource | null}
 */
function capture() {
  const resource = /** @type {any} */ (create());
  const hasStore = Object.getOwnPropertySymbols(resource).some(
    (symbol) => resource[symbol] !== undefined && !IDS.has(/** @type {string} */ (symbol.description)),
  );
  return hasStore ? resource : null;
}

/**
 * @param {any} ws Not open yet
 * @param {AsyncResource | null} context What its events shall run in; null for the one they come in
 */
function setContext(ws, context) {
  if (context === null) return;
  ws._ensureExtra().context = context;
  ws._bits |= CONTEXT;
}

/**
 * Calls a function in the context of a WebSocket.
 *
 * @param {any} ws
 * @param {(ws: any, a?: any, b?: any, c?: any) => void} call Gets the WebSocket and what follows
 * @param {any} [a]
 * @param {any} [b]
 * @param {any} [c]
 */
function inContext(ws, call, a, b, c) {
  if ((ws._bits & CONTEXT) === 0) call(ws, a, b, c);
  else ws._extra.context.runInAsyncScope(call, null, ws, a, b, c);
}

module.exports = { capture, inContext, root, setContext };

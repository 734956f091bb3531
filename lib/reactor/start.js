'use strict';

const { addon } = require('./addon');
const { root } = require('../async-context');
const batch = require('./batch');
const crossing = require('./crossing');
const { settle, wake } = require('./dispatch');
const { DRAINED_WORDS } = require('./layout');
const lifetime = require('./lifetime');
const outbox = require('./outbox');
const table = require('./table');

/** Bun and Deno have functions of libuv, but no loop behind them. */
const HAS_OWN_LOOP = Boolean(process.versions.bun || process.versions.deno);

/**
 * The native reactors; started on first use.
 *
 * @param {{ reactors: number, spin: number, unfinishedBudget: number }} settings Only the first
 *   call decides. `reactors`: its threads, 0 = it runs on this one; `spin`: microseconds for which
 *   it polls before it sleeps, -1 is automatic; `unfinishedBudget`: bytes for unfinished messages,
 *   0 = no limit
 * @returns {import('../native/binding').Reactor} The native reactors, which look like one
 */
function start(settings) {
  if (table.state.native !== null) return table.state.native;
  const binding = addon();
  const records = new Uint32Array(DRAINED_WORDS);
  const options = { ...settings, libuv: !HAS_OWN_LOOP };
  const memory = /** @type {any[][]} */ (binding.lists());
  // Outside of the async context of the first caller.
  const native = root.runInAsyncScope(() => new binding.Reactor(wake, options, records, memory));
  crossing.attach(native, records, memory[1]);
  batch.attach(native, memory[0]);
  outbox.attach(native);
  lifetime.attach(native, settle);
  table.attach(native);
  return native;
}

module.exports = { start };

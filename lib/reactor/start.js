'use strict';

const { getSystemErrorMap } = require('node:util');

const { addon } = require('./addon');
const { root } = require('../async-context');
const batch = require('./batch');
const { settle } = require('./catch-up');
const crossing = require('./crossing');
const { wake } = require('./dispatch');
const { DRAINED_WORDS } = require('./layout');
const lifetime = require('./lifetime');
const outbox = require('./outbox');
const table = require('./table');
const { warn } = require('../log');

/** Bun and Deno have functions of libuv, but no event loop behind them. */
const HAS_OWN_LOOP = Boolean(process.versions.bun || process.versions.deno);

/**
 * `reactors`: its threads, 0 = it runs on this one; `spin`: microseconds for which it polls before
 * it sleeps, -1 is automatic; `unfinishedBudget`: bytes for unfinished messages, 0 = no limit;
 * `sendBudget`: bytes that may wait to be sent, 0 = no limit; `given`: the names of those that are
 * no defaults.
 *
 * @typedef {object} Settings
 * @property {number} reactors See above
 * @property {number} spin See above
 * @property {number} unfinishedBudget See above
 * @property {number} sendBudget See above
 * @property {string[]} given See above
 */

/**
 * The native reactors; started on first use.
 *
 * @param {Settings} settings The settings, of which those of the first call count
 * @returns {import('../native/binding').Reactor} The native reactors, which look like one
 */
function start({ given, ...settings }) {
  if (table.state.native !== null) {
    warnOfOthers(given, settings);
    return table.state.native;
  }
  const binding = addon();
  const records = new Uint32Array(DRAINED_WORDS);
  const options = { ...settings, libuv: !HAS_OWN_LOOP };
  const memory = /** @type {Buffer[][]} */ (/** @type {unknown} */ (binding.lists()));
  // Outside of the async context of the first caller.
  const native = root.runInAsyncScope(() => {
    try {
      return new binding.Reactor(wake, options, records, memory);
    } catch (error) {
      throw coded(/** @type {Error} */ (error));
    }
  });
  crossing.attach(native, records, memory[1]);
  batch.attach(native, memory[0]);
  outbox.attach(native);
  lifetime.attach(native, settle);
  table.attach(native, settings);
  return native;
}

/**
 * @param {Error} error The system's, as std of Rust prints it
 * @returns {Error} The same with the fields that Node gives such an error
 */
function coded(error) {
  const errno = -Number(/\(os error (\d+)\)$/.exec(error.message)?.[1]);
  const [code] = getSystemErrorMap().get(errno) ?? [];
  return code === undefined ? error : Object.assign(error, { code, errno });
}

/**
 * Warns of options without effect: the reactors have been started with others.
 *
 * @param {string[]} given Names of the options
 * @param {Record<string, unknown>} settings The settings to start the reactors with
 */
function warnOfOthers(given, settings) {
  for (const name of given) {
    if (settings[name] === table.state.settings[name]) continue;
    const text = `the option ${name}: ${settings[name]} has no effect`;
    warn('REACTOR_WS_OPTION_IGNORED', `${text}; an earlier server of this thread has started with ${table.state.settings[name]}`);
  }
}

module.exports = { start };

'use strict';

const { getSystemErrorMap } = require('node:util');

const { addon } = require('./addon');
const { root } = require('../base/async-context');
const batch = require('./batch');
const crossing = require('./crossing');
const { wake } = require('./dispatch');
const { DRAINED_WORDS } = require('../base/layout');
const { onArrival } = require('./fence');
const lifetime = require('./lifetime');
const { letGo } = require('./withhold');
const outbox = require('./outbox');
const table = require('./table');
const { warn } = require('../base/log');

/** Bun and Deno have functions of libuv, but no event loop under them. */
const HAS_OWN_LOOP = Boolean(process.versions.bun || process.versions.deno);

/** `given`: the names of those that the program gave. @typedef {import('../native/binding').ReactorOptions & { given: string[] }} Settings */

/** The settings of the first server, for streams. @type {import('../native/binding').ReactorOptions | null} */
let wanted = null;

/**
 * The native reactors, of which the one for streams runs, on this thread.
 *
 * @type {() => import('../native/binding').Reactor}
 */
function open() {
  if (table.state.native !== null) return table.state.native;
  const binding = addon();
  const records = new Uint32Array(DRAINED_WORDS);
  const memory = /** @type {Buffer[][]} */ (/** @type {unknown} */ (binding.lists()));
  // Outside of the async context of the first caller.
  const native = root.runInAsyncScope(() => coding(() => new binding.Reactor(wake, !HAS_OWN_LOOP, records, memory)));
  const calls = native.calls();
  outbox.attach(native, calls, records, memory[1], memory[2]);
  crossing.attach(calls, records);
  batch.attach(native, memory[0]);
  lifetime.attach(native, onArrival, letGo);
  table.attach(native, { ...wanted }, false);
  if (wanted !== null) native.configure(wanted);
  return native;
}

/** @param {Settings} settings Those of a server with a stream, of which those of the first one count */
function want({ given: _given, ...settings }) {
  if (wanted !== null || table.state.hasStarted) return;
  wanted = settings;
  if (table.state.native !== null) table.state.native.configure(wanted);
}

/**
 * The native reactors; those of sockets are started on first use.
 *
 * @type {(settings: Settings) => import('../native/binding').Reactor}
 */
function start({ given, ...settings }) {
  const native = open();
  if (table.state.hasStarted) {
    warnOfOthers(given, { ...settings });
    return native;
  }
  root.runInAsyncScope(() => coding(() => native.start(wake, settings)));
  outbox.started();
  batch.started();
  table.attach(native, { ...settings }, true);
  return native;
}

/** @type {(error: Error) => Error} */
function coded(error) {
  const errno = -Number(/\(os error (\d+)\)$/.exec(error.message)?.[1]);
  const [code] = getSystemErrorMap().get(errno) ?? [];
  return code === undefined ? error : Object.assign(error, { code, errno });
}

/**
 * @template T
 * @param {() => T} act Starts something native
 * @returns {T} Its result
 * @throws {Error} With the code of the system
 */
function coding(act) {
  try {
    return act();
  } catch (error) {
    throw coded(/** @type {Error} */ (error));
  }
}

/**
 * Warns of options without effect: the reactors have been started with others.
 *
 * @type {(given: string[], settings: Record<string, unknown>) => void}
 */
function warnOfOthers(given, settings) {
  for (const name of given) {
    if (settings[name] === table.state.settings[name]) continue;
    const text = `the option ${name}: ${settings[name]} has no effect`;
    warn('REACTOR_WS_OPTION_IGNORED', `${text}; an earlier server of this thread has started with ${table.state.settings[name]}`);
  }
}

module.exports = { open, start, want };

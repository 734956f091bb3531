'use strict';

const { addon } = require('./addon');
const { root } = require('../base/async-context');
const batch = require('./batch');
const { wake } = require('./dispatch');
const { systemError } = require('../base/errors');
const { DRAINED_WORDS } = require('../base/layout');
const streamOps = require('./stream-ops');
const lifetime = require('./lifetime');
const link = require('./reactors');
const outbox = require('./outbox');
const { releaseReplies } = require('./defer-replies');
const { warn } = require('../base/log');

const { state } = link;

/** Bun and Deno have functions of libuv, but not its event loop. */
const HAS_OWN_LOOP = Boolean(process.versions.bun || process.versions.deno);

/** As the program gave it. @typedef {Omit<import('../native/binding').ReactorOptions, 'adaptive' | 'reactors'> & { reactors: number | 'auto' }} Options */
/** `given`: names of options from the program. @typedef {Options & { given: string[] }} Settings */

/** The value of `reactors` for one that the event loop and a thread share. */
const AUTO = 'auto';

/** For tests: the two take turns. */
const EAGER = 'every-turn';

/** Starts the reactor for streams, on this thread. */
function open() {
  if (state.native !== null) return state.native;
  const binding = addon();
  const words = new Uint32Array(DRAINED_WORDS);
  /** @type {any[]} */
  const memory = binding.lists();
  // Outside of the first caller's async context.
  const native = root.runInAsyncScope(() => coding(() => new binding.Reactor(wake, !HAS_OWN_LOOP, words, memory)));
  link.set({ native, words, calls: native.calls() });
  batch.attach(memory[0]);
  outbox.attach(memory[1]);
  streamOps.attach(memory[2]);
  lifetime.attach(() => {
    releaseReplies();
    outbox.flush();
    streamOps.finish();
  });
  if (state.settings !== null) native.configure(nativeOf(state.settings));
  return native;
}

/** @param {Settings} settings Of a server with a stream; the first counts */
function want({ given: _given, ...settings }) {
  if (state.settings !== null) return;
  link.set({ settings: { ...settings } });
  if (state.native !== null) state.native.configure(nativeOf(settings));
}

/** Starts the reactors of sockets, too. @param {Settings} settings */
function start({ given, ...settings }) {
  const native = open();
  if (state.hasStarted) {
    warnOfOthers(given, { ...settings });
    return native;
  }
  root.runInAsyncScope(() => coding(() => native.start(wake, nativeOf(settings))));
  const { links } = native;
  link.set({ reactors: Math.max(links - 1, 1), links, hasStarted: true, settings: { ...settings } });
  return native;
}

/** @type {(settings: Options) => import('../native/binding').ReactorOptions} */
function nativeOf({ reactors, ...settings }) {
  if (reactors !== AUTO) return { ...settings, reactors, adaptive: 0 };
  return { ...settings, reactors: 1, adaptive: process.env.REACTOR_WS_SWITCH === EAGER ? 2 : 1 };
}

/** Adds the system's code to an error. @type {<T>(act: () => T) => T} */
function coding(act) {
  try {
    return act();
  } catch (error) {
    const [errno, [code]] = systemError(error) ?? [0, ['']];
    throw code === '' ? error : Object.assign(/** @type {Error} */ (error), { code, errno });
  }
}

/** Warns if the reactors run with other options. @type {(given: string[], settings: Record<string, unknown>) => void} */
function warnOfOthers(given, settings) {
  for (const name of given) {
    const used = state.settings?.[name];
    if (settings[name] === used) continue;
    const text = `the option ${name}: ${settings[name]} has no effect`;
    warn('REACTOR_WS_OPTION_IGNORED', `${text}; an earlier server of this thread has started with ${used}`);
  }
}

module.exports = { AUTO, open, start, want };

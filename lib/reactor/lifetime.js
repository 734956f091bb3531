'use strict';

// Not the global ones, which a test can replace.
const { clearInterval, setInterval } = require('node:timers');

const { MAX_DELAY } = require('../base/checks');
const { state } = require('./reactors');

/** Flushes all sends. */
let beforeExit = () => {};
/** Number of listeners and connections. */
let users = 0;
/** Users that keep the process alive. */
let refs = 0;
/** @type {NodeJS.Timeout | null} */
let keepAlive = null;

/** @param {() => void} exits */
function attach(exits) {
  beforeExit = exits;
}

/**
 * Lets the reactors call until the matching `release`. Without users they refer to nothing here, so an unused copy of the
 * package is collected, and its reactors end.
 */
function acquire() {
  if (users++ !== 0) return;
  state.native.setRef(true);
  process.on('exit', stop);
  process.on('newListener', onNewListener);
}

function release() {
  if (--users !== 0) return;
  process.removeListener('newListener', onNewListener);
  process.removeListener('exit', stop);
  state.native.setRef(false);
}

/** Keeps the process alive until the matching `unref`; the reactors do not. */
function ref() {
  if (refs++ === 0) keepAlive = setInterval(() => {}, MAX_DELAY);
}

function unref() {
  if (--refs !== 0 || keepAlive === null) return;
  clearInterval(keepAlive);
  keepAlive = null;
}

/** The `ref()` and `unref()` of a socket or a listener, which holds the process. @type {(user: any, does: boolean) => void} */
function refer(user, does) {
  if (user._unreferenced !== does) return;
  user._unreferenced = !does;
  if (does) ref();
  else unref();
}

/**
 * Other listeners of 'exit' can send something, so ours moves to the end. Those of other copies of this package send
 * nothing; two copies would move past each other for ever.
 *
 * @type {(event: string | symbol, listener: object & { [kStop]?: boolean }) => void}
 */
function onNewListener(event, listener) {
  if (event === 'exit' && !listener[kStop]) queueMicrotask(moveToEnd);
}

function moveToEnd() {
  if (users === 0) return;
  process.removeListener('exit', stop);
  process.on('exit', stop);
}

/** Writes queued frames as far as the sockets take them: nothing runs after 'exit'. */
function stop() {
  beforeExit();
  state.native.shutdown();
}

/** Identifies `stop` in every copy of this package. */
const kStop = Symbol.for('reactor-ws.stop');
Object.assign(stop, { [kStop]: true });

module.exports = { attach, ref, refer, unref, acquire, release };

'use strict';

const channels = require('node:diagnostics_channel');
// Not the global ones: a test may have put others in their place.
const { clearInterval, setInterval } = require('node:timers');

const { flush } = require('./crossing');

/** @import { Native } from './table' */

/** The longest delay a timer takes, in milliseconds. */
const LONGEST_DELAY = 2 ** 31 - 1;

/**
 * Channels on which Node reports a connection of a server of its own, behind the listeners of
 * 'connection', and a request, before it emits any event.
 */
const ARRIVALS = ['net.server.socket', 'http.server.request.start'];

/** The native reactors. */
let native = /** @type {Native} */ (/** @type {unknown} */ (null));
/** @type {(message: unknown) => void} */
let onArrival = () => {};
/** The number of listeners and connections. */
let users = 0;
/** The number of those that keep the process alive. */
let holders = 0;
/** @type {NodeJS.Timeout | null} */
let keepAlive = null;

/**
 * @param {Native} reactor The native reactors, which nothing uses yet
 * @param {(message: unknown) => void} arrived To be called when a server of Node in this
 *   environment gets a connection or a request
 */
function attach(reactor, arrived) {
  native = reactor;
  onArrival = arrived;
}

/**
 * Lets the reactors call until the matching `unuse`. Without users the reactors refer to nothing
 * here: once nothing else refers to this copy of the package, it is collected, and the reactors
 * end.
 */
function use() {
  if (users++ !== 0) return;
  native.hold(true);
  for (const name of ARRIVALS) channels.subscribe(name, onArrival);
  process.on('exit', stop);
  process.on('newListener', onNewListener);
}

function unuse() {
  if (--users !== 0) return;
  process.removeListener('newListener', onNewListener);
  process.removeListener('exit', stop);
  for (const name of ARRIVALS) channels.unsubscribe(name, onArrival);
  native.hold(false);
}

/** Keeps the process alive until the matching `release`: the reactors do not. */
function hold() {
  if (holders++ === 0) keepAlive = setInterval(() => {}, LONGEST_DELAY);
}

function release() {
  if (--holders !== 0 || keepAlive === null) return;
  clearInterval(keepAlive);
  keepAlive = null;
}

/**
 * Other listeners of 'exit' may send something: our listener comes after those that were there a
 * tick before. The listeners of other copies of this package send nothing; two copies would move
 * behind each other for ever.
 *
 * @param {string | symbol} event Name of the event
 * @param {object & { [kStop]?: boolean }} listener Its new listener
 */
function onNewListener(event, listener) {
  if (event === 'exit' && !listener[kStop]) queueMicrotask(comeLast);
}

function comeLast() {
  if (users === 0) return;
  process.removeListener('exit', stop);
  process.on('exit', stop);
}

/** Writes the queued frames, as far as the sockets take them: nothing runs after 'exit'. */
function stop() {
  flush();
  native.shutdown();
}

/** The mark of `stop` in every copy of this package. */
const kStop = Symbol.for('reactor-ws.stop');
Object.assign(stop, { [kStop]: true });

module.exports = { attach, hold, release, unuse, use };

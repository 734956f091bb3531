'use strict';

const channels = require('node:diagnostics_channel');
// Not those of the world that this is loaded in: a test may have put others in their place.
const { clearInterval, setInterval } = require('node:timers');

const { flush } = require('./crossing');

/** The longest delay a timer takes, in milliseconds. */
const LONGEST_DELAY = 2 ** 31 - 1;

/**
 * What Node says when a connection or a request has come to a server of its own, before anybody
 * else hears of it.
 */
const ARRIVALS = ['net.server.socket', 'http.server.request.start'];

/** The native reactors. @type {any} */
let native = null;
/** @type {(message: any) => void} */
let onArrival = () => {};
/** Listeners and connections that there are. */
let users = 0;
/** Those of them that keep the process alive. */
let holders = 0;
/** @type {NodeJS.Timeout | null} */
let keepAlive = null;

/**
 * @param {any} reactor The native reactors, which nobody uses yet
 * @param {(message: any) => void} arrived To be called when something else in this environment
 *   hears of the network
 */
function attach(reactor, arrived) {
  native = reactor;
  onArrival = arrived;
}

/**
 * Until the matching `unuse` the reactor may call. In between the reactor refers to nothing here: once nothing else refers to this
 * copy of the package, it is collected, and the reactor ends.
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

/** Keeps the process alive until the matching `release`: the reactor itself does not. */
function hold() {
  if (holders++ === 0) keepAlive = setInterval(() => {}, LONGEST_DELAY);
}

function release() {
  if (--holders !== 0 || keepAlive === null) return;
  clearInterval(keepAlive);
  keepAlive = null;
}

/**
 * Other listeners of 'exit' may send something: ours comes behind those that were there a tick before. Those of other copies of this
 * package do not, and each would come behind the other for ever.
 *
 * @param {string | symbol} event
 * @param {any} listener
 */
function onNewListener(event, listener) {
  if (event === 'exit' && !listener[kStop]) queueMicrotask(comeLast);
}

function comeLast() {
  if (users === 0) return;
  process.removeListener('exit', stop);
  process.on('exit', stop);
}

/** Nothing runs after 'exit': what was sent is written now, as far as the sockets take it. */
function stop() {
  flush();
  native.shutdown();
}

/** Marks it, in every copy of this package. */
const kStop = Symbol.for('reactor-ws.stop');
/** @type {any} */ (stop)[kStop] = true;

module.exports = { attach, hold, release, unuse, use };

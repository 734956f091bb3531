'use strict';

// What comes to a reactor, and then to a server of Node's in this thread, is delivered in that order. A new connection of
// such a server is not read before the reactors have reported all that they had when it came. Nobody waits in between.

// Not the global one: a test may have put another in its place.
const { setImmediate } = require('node:timers');

const lifetime = require('./lifetime');
const { state } = require('./link');

/** The part of a connection's handle that is used here, which is Node's own. @typedef {{ reading?: boolean, readStart?(): void, readStop?(): void }} Handle */

/** Functions to be called when the reactors have answered. @type {Array<() => void>} */
let asked = [];
/** Functions that ask next. @type {Array<() => void>} */
let next = [];
/** The number of reactors that have not answered. */
let left = 0;

/**
 * Calls `act` when all that the reactors have now has been delivered, and they have ended the connections whose ends they
 * have reported.
 *
 * @param {() => void} act
 */
function afterReactors(act) {
  // Those of one turn ask together.
  if (next.push(act) === 1 && left === 0) setImmediate(ask);
}

function ask() {
  if (state.failure !== null) return void next.splice(0).forEach((act) => act());
  lifetime.use();
  lifetime.hold();
  asked = next;
  next = [];
  left = state.reactors;
  state.native.fence();
}

/** A reactor has answered: perhaps after the report that another one has died. */
function passed() {
  if (left !== 0 && --left === 0) release();
}

/** The reactors have answered, or never will. */
function release() {
  left = 0;
  const acts = asked;
  asked = [];
  for (const act of acts) act();
  lifetime.release();
  lifetime.unuse();
  if (next.length !== 0) ask();
}

/** The reactors have died, and `state` has their failure. */
function fail() {
  if (left !== 0) release();
}

/** A server of Node's has a new connection, and has called its listeners. @type {(message: unknown) => void} */
function onArrival(message) {
  if (!state.hasStarted) return;
  const { socket } = /** @type {{ socket?: { _handle?: Handle | null } }} */ (message);
  const handle = socket?._handle;
  // A server may have chosen not to read it.
  if (!handle?.reading || handle.readStart === undefined || handle.readStop === undefined) return;
  handle.readStop();
  afterReactors(() => {
    if (socket?._handle === handle && handle.reading) handle.readStart?.();
  });
}

module.exports = { afterReactors, fail, onArrival, passed };

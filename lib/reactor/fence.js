'use strict';

// What arrives at a reactor, and then at a server of Node in this thread, is delivered in that order: a new connection
// of Node is read when the reactors have reported what they had. Nothing blocks meanwhile.

// Not the global one, which a test may replace.
const { setImmediate } = require('node:timers');

const lifetime = require('./lifetime');
const { state } = require('./link');

/** The part of Node's handle of a connection that is used here. @typedef {{ reading?: boolean, readStart?(): void, readStop?(): void }} Handle */

/** Functions to call when the reactors have answered. @type {Array<() => void>} */
let asked = [];
/** Functions to call after the next question. @type {Array<() => void>} */
let next = [];
/** Reactors that have not answered. */
let left = 0;

/** Calls `act` when all that the reactors have now is delivered, and connections with reported ends have ended there. @param {() => void} act */
function afterReactors(act) {
  // Once for all of one turn.
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

/** Perhaps after the report that another reactor has died. */
function passed() {
  if (left !== 0 && --left === 0) release();
}

/** All reactors have answered, or never will. */
function release() {
  left = 0;
  const acts = asked;
  asked = [];
  for (const act of acts) act();
  lifetime.release();
  lifetime.unuse();
  if (next.length !== 0) ask();
}

/** The reactors have died; `state` has the failure. */
function fail() {
  if (left !== 0) release();
}

/** A server of Node has a new connection, and has called its listeners. @param {unknown} message */
function onArrival(message) {
  if (!state.hasStarted) return;
  const { socket } = /** @type {{ socket?: { _handle?: Handle | null } }} */ (message);
  const handle = socket?._handle;
  // A server may choose not to read it.
  if (!handle?.reading || handle.readStart === undefined || handle.readStop === undefined) return;
  handle.readStop();
  afterReactors(() => {
    if (socket?._handle === handle && handle.reading) handle.readStart?.();
  });
}

module.exports = { afterReactors, fail, onArrival, passed };

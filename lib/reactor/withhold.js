'use strict';

// A client that closes one connection and opens another one sees the old end first. In one event loop that is so by
// itself. Here Node, or another reactor, may answer the new connection before a reactor has ended the old one, so answers
// wait for the ends before them, and, for a client in this process, until the event loop has read those ends.

// Not the global ones: a test may have put others in their place.
const { clearTimeout, setImmediate, setTimeout } = require('node:timers');

const { OUT_FLAG_ON, OUT_WITHHOLD } = require('../base/layout');
const { afterReactors } = require('./fence');
const { state } = require('./link');
const outbox = require('./outbox');

/** @import { Place } from './crossing' */

/** The turns of the event loop after an end: in the first it comes to a client, and in the next 'close' does. */
const TURNS = 3;
/** The number of turns is counted in so many bits. */
const TURN_MASK = 2 ** 30 - 1;
/** The milliseconds after which answers wait for no end: a peer may not read our close frame, and so put its end off. */
const PATIENCE = 2;

/** Connections whose close frame has just been answered. @type {Set<Place>} */
const closing = new Set();
/** The turn of the last end. */
let lastEnd = -1;
/** Connections whose answers wait. @type {Place[]} */
let waiting = [];
/** The turns until those leave; 0: none are counted. */
let turnsLeft = 0;
/** Whether there were ends since the count began. */
let areNew = false;
let isPatient = true;
/** @type {NodeJS.Timeout | undefined} */
let timer;

/** Its close frame is being answered. `isOver`: that answers ours, and the end leaves without us. @type {(connection: Place, isOver: boolean) => void} */
function closes(connection, isOver) {
  if (isOver) ended(connection);
  else closing.add(connection);
}

/** @param {Place} connection A connection whose end leaves */
function ended(connection) {
  closing.delete(connection);
  lastEnd = state.calls.loopTurn();
  areNew = true;
  if (isPatient && closing.size === 0) count();
}

/** Whether an answer must wait: clients may not have seen all ends. */
function mustWait() {
  return closing.size !== 0 || (lastEnd >= 0 && ((state.calls.loopTurn() - lastEnd) & TURN_MASK) < TURNS);
}

/** @param {Place} connection A connection that has been answered, and need not wait */
function withhold(connection) {
  if (!mustWait()) return;
  outbox.pushEmpty(connection._slot, connection._generation, OUT_WITHHOLD | OUT_FLAG_ON);
  wait(connection);
}

/** @param {Place} connection A connection whose answer waits */
function wait(connection) {
  if (waiting.push(connection) !== 1) return;
  timer = setTimeout(setImmediate, PATIENCE, giveUp, waiting);
  if (closing.size === 0) count();
}

/** Counts the turns after the ends that have been reported by now. */
function count() {
  if (turnsLeft !== 0 || waiting.length === 0) return;
  areNew = false;
  turnsLeft = TURNS;
  afterReactors(next);
}

function next() {
  setImmediate(onTurn);
}

function onTurn() {
  if (--turnsLeft > 0) return next();
  if (!isPatient || (closing.size === 0 && !areNew)) letGo();
  else if (closing.size === 0) count();
}

/** @param {Place[]} connections Those that began to wait `PATIENCE` ago do not wait for later ends */
function giveUp(connections) {
  // They may have been let go since.
  if (connections !== waiting) return;
  closing.clear();
  isPatient = false;
  count();
}

function letGo() {
  clearTimeout(timer);
  // It refers to the connections that waited.
  timer = undefined;
  isPatient = true;
  const connections = waiting;
  waiting = [];
  for (const { _slot, _generation } of connections) outbox.pushEmpty(_slot, _generation, OUT_WITHHOLD);
}

module.exports = { closes, ended, letGo, mustWait, wait, withhold };

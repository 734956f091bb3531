'use strict';

// A client that closes one connection and opens another sees the old end first, as with one event loop. Here Node or
// another reactor may answer the new connection before a reactor has ended the old one. So answers wait for earlier
// ends and, for a client in this process, until the event loop has read them.

// Not the global ones, which a test may replace.
const { clearTimeout, setImmediate, setTimeout } = require('node:timers');

const { OUT_FLAG_ON, OUT_WITHHOLD } = require('../base/layout');
const { afterReactors } = require('./fence');
const { state } = require('./link');
const outbox = require('./outbox');

/** @import { Place } from './crossing' */

/** Turns of the event loop after an end: in the first it reaches a client, in the next comes 'close'. */
const TURNS = 3;
/** The number of a turn has 30 bits. */
const TURN_MASK = 2 ** 30 - 1;
/** Milliseconds after which answers wait for no later end: a peer may delay its end by not reading our close frame. */
const PATIENCE = 2;

/** Connections whose close frame is being answered. @type {Set<Place>} */
const closing = new Set();
let lastEnd = -1;
/** Connections whose answers wait. @type {Place[]} */
let waiting = [];
/** Turns until those leave; 0: not counting. */
let turnsLeft = 0;
/** Whether ends arrived since the count began. */
let areNew = false;
let isPatient = true;
/** @type {NodeJS.Timeout | undefined} */
let timer;

/**
 * The peer's close frame is being answered. `isOver`: it answers ours, so the end leaves without us.
 *
 * @type {(connection: Place, isOver: boolean) => void}
 */
function closes(connection, isOver) {
  if (isOver) ended(connection);
  else closing.add(connection);
}

/** Its end leaves. @param {Place} connection */
function ended(connection) {
  closing.delete(connection);
  lastEnd = state.calls.loopTurn();
  areNew = true;
  if (isPatient && closing.size === 0) count();
}

/** Whether an answer must wait, as clients may not have seen all ends. */
function mustWait() {
  return closing.size !== 0 || (lastEnd >= 0 && ((state.calls.loopTurn() - lastEnd) & TURN_MASK) < TURNS);
}

/** @param {Place} connection Its answer may have to wait */
function withhold(connection) {
  if (!mustWait()) return;
  outbox.pushEmpty(connection._slot, connection._generation, OUT_WITHHOLD | OUT_FLAG_ON);
  wait(connection);
}

/** @param {Place} connection Its answer waits */
function wait(connection) {
  if (waiting.push(connection) !== 1) return;
  timer = setTimeout(setImmediate, PATIENCE, giveUp, waiting);
  if (closing.size === 0) count();
}

/** Counts turns after the ends reported so far. */
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

/** After PATIENCE: these do not wait for later ends. @param {Place[]} connections */
function giveUp(connections) {
  // They may have left since.
  if (connections !== waiting) return;
  closing.clear();
  isPatient = false;
  count();
}

function letGo() {
  clearTimeout(timer);
  // It refers to those connections.
  timer = undefined;
  isPatient = true;
  const connections = waiting;
  waiting = [];
  for (const { _slot, _generation } of connections) outbox.pushEmpty(_slot, _generation, OUT_WITHHOLD);
}

module.exports = { closes, ended, letGo, mustWait, wait, withhold };

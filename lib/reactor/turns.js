'use strict';

// Not the global one: a test may have put another in its place.
const { performance } = require('node:perf_hooks');

const { checkpoint } = require('./checkpoint');
const { callNext, incoming, loopTurn } = require('./crossing');

/**
 * The number of ends of peers that were delivered and that their connections have yet to report.
 */
const ends = { unreported: 0 };

/** In place of the turn in which a connection had a record: it had one just now. */
const JUST_NOW = 2 ** 30 - 1;

/**
 * Turns of the event loop, behind that of a handler, in which work that it has put off may still be
 * undone.
 */
let turnsToDo = 0;

/**
 * Functions that are called in the next turn of the event loop, the oldest first.
 *
 * @type {{ act: () => void, turn: number }[]}
 */
const waiting = [];

/** The number of those that have been called. */
let called = 0;

/**
 * A connection that opens waits until those ends are reported, and all records behind it wait with
 * it: an eighth of the time at most, and 16 ms at once. Then it opens before them: to report them
 * early would lose work that handlers have put off and would still answer.
 */
const WAITING_SHARE = 8;
const MOST_WAITING = 16;

/**
 * The milliseconds that it may wait, less than 0 if it has waited for too long, and the time from
 * which they count.
 */
const allowance = { left: MOST_WAITING, since: 0, isWaiting: false };

/** Begins the delivery of an immediate of ours. */
function beginTurn() {
  if (allowance.isWaiting) {
    const now = performance.now();
    allowance.left -= now - allowance.since;
    allowance.since = now;
    allowance.isWaiting = false;
  }
  // Immediates of the turn before have run by now, and timers have not.
  incoming.turn = loopTurn();
  turnsToDo = 1;
}

/** Ends that delivery. */
function endTurn() {
  turnsToDo = 0;
}

/**
 * Calls `act` in the event loop's next turn, before that reads any socket.
 *
 * @param {() => void} act The function to call
 * @returns {boolean} False if there is no way to do that
 */
function inNextTurn(act) {
  if (!callNext()) return false;
  waiting.push({ act, turn: loopTurn() });
  return true;
}

/**
 * Calls the functions that wait, except those that have begun to wait in this turn. A handler that
 * runs the event loop gets here again, and goes on with the same list.
 */
function callDue() {
  if (waiting.length === 0) return;
  let finished = false;
  try {
    while (called < waiting.length && waiting[called].turn !== loopTurn()) {
      waiting[called++].act();
      checkpoint();
    }
    finished = true;
  } finally {
    waiting.splice(0, called);
    called = 0;
    // A function that began to wait behind `setImmediate` was not due in the call it asked for. And
    // when one has thrown, `wake` delivers nothing.
    if (!finished || waiting.length !== 0) callNext();
  }
}

/**
 * In Node a connection is read once in a turn of the event loop: work that handlers have put off
 * with ticks, promises, `setImmediate` and timers that are due is done before the next read.
 *
 * @param {import('./table').Holder} connection The connection of the record being delivered
 * @returns {boolean} Whether it had another record in this turn
 */
function isRecent({ _turn }) {
  return incoming.turn - _turn <= turnsToDo;
}

/** @returns {boolean} Whether there is time to wait until the ends are reported */
function mayWait() {
  const now = performance.now();
  const { left, since } = allowance;
  allowance.left = Math.min(MOST_WAITING, left + (now - since) / WAITING_SHARE);
  allowance.since = now;
  allowance.isWaiting = allowance.left > 0;
  if (!allowance.isWaiting) incoming.unsettled++;
  return allowance.isWaiting;
}

module.exports = { JUST_NOW, beginTurn, callDue, endTurn, ends, inNextTurn, isRecent, mayWait };

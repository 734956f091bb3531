'use strict';

// Not the global one: a test may have put another in its place.
const { performance } = require('node:perf_hooks');

const { checkpoint } = require('./checkpoint');
const { callNext, countUnsettled, incoming, loopTurn, renewTurn } = require('./crossing');

/** Ends of peers that were delivered and that their connections have yet to report. */
let unreported = 0;

/** In place of the turn of a connection's last record. */
const JUST_NOW = 2 ** 30 - 1;

/** Turns after a handler's in which work that it has put off may still wait. */
let turnsToDo = 0;

/** To be called in the next turn of the event loop. @type {{ act: () => void, turn: number }[]} */
const waiting = [];

/** The number of those that have been called. */
let called = 0;

/**
 * A connection that opens waits until those ends are reported: an eighth of the time at most, and 16 ms at once. Then
 * it opens before them: to report them early would lose work that handlers have put off.
 */
const WAITING_SHARE = 8;
const MOST_WAITING = 16;

/** The milliseconds that it may wait, and the time from which they count. */
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
  renewTurn();
  turnsToDo = 1;
}

function endTurn() {
  turnsToDo = 0;
}

/**
 * Calls `act` in the event loop's next turn, before that reads any socket; false if there is no way to do that.
 *
 * @type {(act: () => void) => boolean}
 */
function inNextTurn(act) {
  if (!callNext()) return false;
  waiting.push({ act, turn: loopTurn() });
  return true;
}

/**
 * Calls the functions that wait, except those of this turn. A handler that runs the event loop gets here again, and
 * goes on with the same list.
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
    // A function that began to wait after `setImmediate` was not due in the call it asked for. And when one has
    // thrown, `wake` delivers nothing.
    if (!finished || waiting.length !== 0) callNext();
  }
}

/**
 * In Node a connection is read once in a turn of the event loop: work that handlers have put off
 * with ticks, promises, `setImmediate` and timers that are due is done before the next read.
 *
 * @type {(connection: import('./table').Holder) => boolean}
 */
function isRecent({ _turn }) {
  return incoming.turn - _turn <= turnsToDo;
}

/** The end of a peer was delivered. */
function endComes() {
  unreported++;
}

/** Its connection reports it. */
function endReported() {
  unreported--;
}

/** Whether there are such ends, and time to wait until they are reported. */
function waitsForEnds() {
  if (unreported === 0) return false;
  const now = performance.now();
  const { left, since } = allowance;
  allowance.left = Math.min(MOST_WAITING, left + (now - since) / WAITING_SHARE);
  allowance.since = now;
  allowance.isWaiting = allowance.left > 0;
  if (!allowance.isWaiting) countUnsettled();
  return allowance.isWaiting;
}

module.exports = { JUST_NOW, beginTurn, callDue, endTurn, endComes, endReported, inNextTurn, isRecent, waitsForEnds };

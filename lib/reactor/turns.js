'use strict';

// Not the global ones: a test may have put others in their place.
const { performance } = require('node:perf_hooks');
const { setImmediate } = require('node:timers');

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
 * Reports the peer's end when Node would. Node reads a socket once in a turn of the event loop: the
 * end comes one turn after the bytes before it, after the work that handlers have put off with
 * ticks, promises, `setImmediate` and timers that are due. Without such work the end is reported
 * now: what Node reports next, such as a request, comes after it.
 *
 * @template {import('./table').Holder} T
 * @param {(connection: T) => void} report
 * @param {T} connection
 */
function reportEnd(report, connection) {
  if (incoming.turn - connection._turn > turnsToDo) {
    report(connection);
    return;
  }
  unreported++;
  const act = () => {
    unreported--;
    report(connection);
  };
  // In two turns of the event loop Node has done its work, and the work that followed from it.
  if (!inNextTurn(act)) setImmediate(() => setImmediate(act));
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

module.exports = { JUST_NOW, beginTurn, callDue, endTurn, reportEnd, waitsForEnds };

'use strict';

// Not the global ones: a test may have put others in their place.
const { performance } = require('node:perf_hooks');
const { setImmediate } = require('node:timers');

const { DRAINED_TURN } = require('../base/layout');
const { state } = require('./link');

const { _tickCallback: ticks = () => {} } = /** @type {{ _tickCallback?: () => void }} */ (/** @type {unknown} */ (process));

/** With --pending-deprecation `ticks` warns, and this is Node's own function. Else it has no name. */
const wrapped = Object.getPrototypeOf(ticks);

/**
 * In Node every read of a socket is a callback of its own, and process.nextTick and promise jobs run after it. This does
 * the same between the connections of a batch (measured: 40 ns when nothing waits).
 *
 * @type {() => void}
 */
const checkpoint = wrapped.name === '' ? ticks : wrapped;

/** Ends of peers that were delivered and that their connections have yet to report. */
let unreported = 0;

/** In place of the turn of a connection's last record. */
const JUST_NOW = 2 ** 30 - 1;

/** Turns after a handler's in which work that it has put off may still wait. */
let turnsToDo = 0;

/** To be called in the event loop's next turn, before that reads any socket. @type {{ act: () => void, turn: number }[]} */
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

/** How often a connection has opened before an end that had come before. */
let unsettled = 0;

/** Begins the delivery of an immediate of ours. */
function beginTurn() {
  if (allowance.isWaiting) {
    const now = performance.now();
    allowance.left -= now - allowance.since;
    allowance.since = now;
    allowance.isWaiting = false;
  }
  // Immediates of the turn before have run by now, and timers have not.
  state.words[DRAINED_TURN] = state.calls.loopTurn();
  turnsToDo = 1;
}

function endTurn() {
  turnsToDo = 0;
}

/**
 * Calls the functions that wait, except those of this turn. A handler that runs the event loop gets here again, and
 * goes on with the same list.
 */
function callDue() {
  if (waiting.length === 0) return;
  let finished = false;
  try {
    while (called < waiting.length && waiting[called].turn !== state.calls.loopTurn()) {
      waiting[called++].act();
      checkpoint();
    }
    finished = true;
  } finally {
    waiting.splice(0, called);
    called = 0;
    // A function that began to wait after `setImmediate` was not due in the call it asked for. And when one has
    // thrown, `wake` delivers nothing.
    if (!finished || waiting.length !== 0) state.calls.callNext();
  }
}

/**
 * Reports the peer's end when Node would. Node reads a socket once in a turn of the event loop: the
 * end comes one turn after the bytes before it, after the work that handlers have put off with
 * ticks, promises, `setImmediate` and timers that are due. Without such work the end is reported
 * now: what Node reports next, such as a request, comes after it.
 *
 * @type {<T extends import('./table').Holder>(report: (connection: T) => void, connection: T) => void}
 */
function reportEnd(report, connection) {
  if (state.words[DRAINED_TURN] - connection._turn > turnsToDo) return report(connection);
  unreported++;
  const act = () => {
    unreported--;
    report(connection);
  };
  if (state.calls.callNext()) waiting.push({ act, turn: state.calls.loopTurn() });
  // In two turns of the event loop Node has done its work, and the work that followed from it.
  else setImmediate(() => setImmediate(act));
}

/** Whether there are such ends, and time to wait until they are reported. */
function waitsForEnds() {
  if (unreported === 0) return false;
  const now = performance.now();
  const { left, since } = allowance;
  allowance.left = Math.min(MOST_WAITING, left + (now - since) / WAITING_SHARE);
  allowance.since = now;
  allowance.isWaiting = allowance.left > 0;
  if (!allowance.isWaiting) unsettled++;
  return allowance.isWaiting;
}

/** For metrics. */
function openedBeforeEnds() {
  return unsettled;
}

module.exports = { JUST_NOW, beginTurn, callDue, checkpoint, endTurn, openedBeforeEnds, reportEnd, waitsForEnds };

'use strict';

// Not the global ones, which a test can replace.
const { performance } = require('node:perf_hooks');
const { setImmediate } = require('node:timers');

const { DRAINED_TURN } = require('../base/layout');
const { state } = require('./reactors');

/** @type {any} */
const { _tickCallback: ticks = () => {} } = process;

/** With --pending-deprecation, `ticks` warns and this is Node's own function. Otherwise it has no name. */
const wrapped = Object.getPrototypeOf(ticks);

/**
 * In Node, each read of a socket is a callback, followed by process.nextTick and promise jobs. This does the same
 * between connections of a batch (40 ns when nothing waits).
 *
 * @type {() => void}
 */
const checkpoint = wrapped.name === '' ? ticks : wrapped;

/** Delivered ends of peers that their connections have yet to report. */
let unreported = 0;

/** In place of the turn of a connection's last record. */
const JUST_NOW = 2 ** 30 - 1;

/** Turns after a handler's in which work that it has deferred can be pending. */
let turnsToDo = 0;

/** Functions to call in the next turn of the event loop, before it reads any socket. @type {{ act: () => void, turn: number }[]} */
const waiting = [];

/** How many of these were called. */
let called = 0;

/**
 * A connection that opens waits until unreported ends are reported: an eighth of the time at most, and 16 ms at once.
 * Then it opens before them: reporting early would lose work that handlers have deferred.
 */
const WAITING_SHARE = 8;
const MAX_WAITING = 16;

/** Milliseconds that it can wait, and since when. */
const allowance = { left: MAX_WAITING, since: 0, isWaiting: false };

/** Connections that opened before an earlier end was reported. */
let unsettled = 0;

/** Begins the delivery of our immediate. */
function beginTurn() {
  if (allowance.isWaiting) {
    const now = performance.now();
    allowance.left -= now - allowance.since;
    allowance.since = now;
    allowance.isWaiting = false;
  }
  // Immediates of the previous turn have run by now; timers have not.
  state.words[DRAINED_TURN] = state.calls.loopTurn();
  turnsToDo = 1;
}

function endTurn() {
  turnsToDo = 0;
}

/**
 * Calls the functions that have waited since an earlier turn. A handler that runs the event loop calls this again, and the
 * inner call goes on with the list.
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
    // A function that began to wait after `setImmediate` was not due in the call it asked for. If one has thrown,
    // `wake` delivers nothing.
    if (!finished || waiting.length !== 0) state.calls.callNext();
  }
}

/**
 * Reports the peer's end when Node would. Node reads a socket once per turn: the end comes one turn after the bytes
 * before it, and after work that handlers have deferred by ticks, promises, `setImmediate` and due timers. Without such
 * work it is reported now, before Node's next report, such as a request.
 *
 * @type {<T extends import('../connection/state').Connection>(report: (connection: T) => void, connection: T) => void}
 */
function reportEnd(report, connection) {
  if (state.words[DRAINED_TURN] - connection._turn > turnsToDo) return report(connection);
  unreported++;
  const act = () => {
    unreported--;
    report(connection);
  };
  if (state.calls.callNext()) waiting.push({ act, turn: state.calls.loopTurn() });
  // After two turns, Node has run all work that followed from the bytes.
  else setImmediate(() => setImmediate(act));
}

/** Whether there are unreported ends, and time to wait for them. */
function waitsForEnds() {
  if (unreported === 0) return false;
  const now = performance.now();
  const { left, since } = allowance;
  allowance.left = Math.min(MAX_WAITING, left + (now - since) / WAITING_SHARE);
  allowance.since = now;
  allowance.isWaiting = allowance.left > 0;
  if (!allowance.isWaiting) unsettled++;
  return allowance.isWaiting;
}

function openedBeforeEnds() {
  return unsettled;
}

module.exports = { JUST_NOW, beginTurn, callDue, checkpoint, endTurn, openedBeforeEnds, reportEnd, waitsForEnds };

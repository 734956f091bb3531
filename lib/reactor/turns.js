'use strict';

const { checkpoint } = require('./checkpoint');
const { callNext, incoming, loopTurn } = require('./crossing');

/** Ends of peers that were delivered here and that their connections report later. */
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

/** How many of those have been called. */
let called = 0;

/**
 * A connection that opens waits until those are reported, and what came behind waits with it: an
 * eighth of the time at most, and 16 ms at once. Then it opens before them: to report them early
 * would lose what handlers have put off and still answer.
 */
const WAITING_SHARE = 8;
const MOST_WAITING = 16;

/**
 * Milliseconds that it may wait, less than 0 where it has waited for too long, and since when it
 * counts.
 */
const allowance = { left: MOST_WAITING, since: 0, isWaiting: false };

/** Begins what is delivered by an immediate of ours. */
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

/** Ends that. */
function endTurn() {
  turnsToDo = 0;
}

/**
 * Calls `act` in the event loop's next turn, before that reads any socket.
 *
 * @param {() => void} act What is called
 * @returns {boolean} False: there is no way to do that
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
 * In Node a connection is read once in a turn of the event loop: what handlers have put off with
 * ticks, promises, `setImmediate` and timers that are due is done before what comes next.
 *
 * @param {import('./table').Holder} connection The connection of the record being delivered
 * @returns {boolean} Whether it had something else in this turn
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
  return (allowance.isWaiting = allowance.left > 0);
}

module.exports = { JUST_NOW, beginTurn, callDue, endTurn, ends, inNextTurn, isRecent, mayWait };

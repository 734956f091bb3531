'use strict';

// Node's own: the end of a connection comes also where a test has put the clock in its hands.
const { setImmediate } = require('node:timers');

const { turnsToDo } = require('../reactor/crossing');
const { ends } = require('../reactor/dispatch');

/**
 * Calls `act` when the event loop has turned twice: Node has done what it had to do, and what that
 * has led to.
 *
 * @template T
 * @param {(connection: T) => void} act What is called
 * @param {T} connection Its argument
 */
function afterTwoTurns(act, connection) {
  setImmediate(() => setImmediate(act, connection));
}

/**
 * Reports the peer's end when Node would. Node reads a socket once in a turn of the event loop:
 * what handlers have put off with ticks, promises and `setImmediate` is done before the end that
 * was right behind what they were called for. If nothing was put off at all, the end is reported
 * now: what Node reports next, such as a request, comes behind it.
 *
 * @template T
 * @param {(connection: T) => void} report What reports the end
 * @param {T} connection Its argument
 * @param {boolean} wasHeld Whether the end comes right behind what was held, and not behind the
 *   jobs of that
 */
function reportEnd(report, connection, wasHeld) {
  const turns = ends.areBehindJobs && !wasHeld ? turnsToDo() : 2;
  if (turns === 0) {
    report(connection);
    return;
  }
  ends.unreported++;
  const act = (/** @type {T} */ ended) => {
    ends.unreported--;
    report(ended);
  };
  // What jobs put off is behind the first immediate, and before the second; so are timers.
  if (turns === 1) setImmediate(act, connection);
  else afterTwoTurns(act, connection);
}

module.exports = { afterTwoTurns, reportEnd };

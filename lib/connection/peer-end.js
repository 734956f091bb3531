'use strict';

// Node's own: the end of a connection comes also where a test has put the clock in its hands.
const { setImmediate } = require('node:timers');

const { isLoopBusy } = require('../reactor/crossing');
const { ends } = require('../reactor/dispatch');

/**
 * Calls `act` when the event loop has turned twice: Node has done what it had to do, and what that
 * has led to.
 *
 * @template T
 * @param {(connection: T) => void} act
 * @param {T} connection
 */
function afterTwoTurns(act, connection) {
  setImmediate(() => setImmediate(act, connection));
}

/**
 * Calls `tell` when Node would report the peer's end. It reads a socket once in a turn of the event
 * loop: what handlers put off with ticks, promises and `setImmediate` is done before the end that
 * was right behind what they were called for. If nothing is put off at all, that is now: what Node
 * reports next, such as a request, comes behind the end.
 *
 * @template T
 * @param {(connection: T) => void} tell
 * @param {T} connection
 * @param {boolean} wasHeld Whether it comes right behind what has been held, and not behind the jobs
 *   of that
 */
function tellOfEnd(tell, connection, wasHeld) {
  const isBehindJobs = ends.areBehindJobs && !wasHeld;
  if (isBehindJobs && !isLoopBusy()) {
    tell(connection);
    return;
  }
  ends.untold++;
  const act = (/** @type {T} */ ended) => {
    ends.untold--;
    tell(ended);
  };
  // What jobs put off is behind the first immediate, and before the second.
  if (isBehindJobs) setImmediate(act, connection);
  else afterTwoTurns(act, connection);
}

module.exports = { afterTwoTurns, tellOfEnd };

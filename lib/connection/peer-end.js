'use strict';

// Node's own: the end of a connection comes also where a test has put the clock in its hands.
const { setImmediate } = require('node:timers');

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
 * was right behind what they were called for.
 *
 * @template T
 * @param {(connection: T) => void} tell
 * @param {T} connection
 * @param {boolean} isRecent Whether something of the peer's has been delivered in this turn, or
 *   waits
 */
function tellOfEnd(tell, connection, isRecent) {
  ends.untold++;
  const act = (/** @type {T} */ ended) => {
    ends.untold--;
    tell(ended);
  };
  tellOfStreamEnd(act, connection, isRecent);
}

/**
 * The same for a stream.
 *
 * @template T
 * @param {(connection: T) => void} tell
 * @param {T} connection
 * @param {boolean} isRecent
 */
function tellOfStreamEnd(tell, connection, isRecent) {
  // What they put off is behind the first immediate, and before the second. Without such handlers
  // there is only what was put off by those of an earlier turn, before this.
  if (isRecent) afterTwoTurns(tell, connection);
  else setImmediate(tell, connection);
}

module.exports = { afterTwoTurns, tellOfEnd, tellOfStreamEnd };

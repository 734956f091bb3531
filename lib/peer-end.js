'use strict';

// Node's own: the end of a connection comes also where a test has put the clock in its hands.
const { setImmediate } = require('node:timers');

/**
 * Calls `tell` when Node would tell of the peer's end. It reads a socket once in a turn of the event loop: what handlers put off
 * with ticks, promises and `setImmediate` is done before the end that was right behind what they were called for.
 *
 * @template T
 * @param {(connection: T) => void} tell
 * @param {T} connection
 */
function tellOfEnd(tell, connection) {
  // What they put off is behind the first of these, and before the second.
  setImmediate(() => setImmediate(() => tell(connection)));
}

module.exports = { tellOfEnd };

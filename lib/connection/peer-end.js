'use strict';

// Node's own: the end of a connection comes also where a test has put the clock in its hands.
const { setImmediate } = require('node:timers');

const { ends, inNextTurn, isRecent } = require('../reactor/dispatch');

/** @import { Connection } from './state' */

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
 * Reports the peer's end when Node would. Node reads a socket once in a turn of the event loop: the
 * end comes in another turn than what was right before it, behind what handlers have put off with
 * ticks, promises, `setImmediate` and timers that are due. Without that it is reported now: what
 * Node reports next, such as a request, comes behind it.
 *
 * @template {Connection} T
 * @param {(connection: T) => void} report What reports the end
 * @param {T} connection Its argument
 */
function reportEnd(report, connection) {
  if (!isRecent(connection)) {
    report(connection);
    return;
  }
  ends.unreported++;
  const act = () => {
    ends.unreported--;
    report(connection);
  };
  if (!inNextTurn(act)) afterTwoTurns(act, connection);
}

module.exports = { afterTwoTurns, reportEnd };

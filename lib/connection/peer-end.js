'use strict';

// Node's own timers: the end of a connection comes also where a test has replaced the global ones.
const { setImmediate } = require('node:timers');

const { endComes, endReported, inNextTurn, isRecent } = require('../reactor/turns');

/** @import { Connection } from './state' */

/**
 * Reports the peer's end when Node would. Node reads a socket once in a turn of the event loop: the
 * end comes one turn after the bytes before it, after the work that handlers have put off with
 * ticks, promises, `setImmediate` and timers that are due. Without such work the end is reported
 * now: what Node reports next, such as a request, comes after it.
 *
 * @template {Connection} T
 * @param {(connection: T) => void} report
 * @param {T} connection
 */
function reportEnd(report, connection) {
  if (!isRecent(connection)) {
    report(connection);
    return;
  }
  endComes();
  const act = () => {
    endReported();
    report(connection);
  };
  // In two turns of the event loop Node has done its work, and the work that followed from it.
  if (!inNextTurn(act)) setImmediate(() => setImmediate(act));
}

module.exports = { reportEnd };

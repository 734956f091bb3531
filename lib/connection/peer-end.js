'use strict';

// Node's own timers: the end of a connection comes also where a test has replaced the global ones.
const { setImmediate } = require('node:timers');

const { GONE, HOLDING, SENDS_WAIT, TERMINATED } = require('../bits');
const { ends, inNextTurn, isRecent } = require('../reactor/turns');

/** @import { Connection, WebSocket } from './state' */

/**
 * Calls `act` when the event loop has turned twice: Node has done its work by then, and the work
 * that this has led to.
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

/**
 * @param {WebSocket} ws A connection whose peer has ended its side
 * @returns {boolean} Whether all that was sent is in the kernel, and all that came is delivered
 */
function isDone(ws) {
  if ((ws._bits & (GONE | TERMINATED | HOLDING | SENDS_WAIT)) !== 0) return false;
  return !ws._extra?.callbacks?.length && ws.bufferedAmount === 0;
}

module.exports = { afterTwoTurns, isDone, reportEnd };

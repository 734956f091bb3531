'use strict';

const { DENIALS } = require('../reactor/layout');
const { state } = require('../reactor/table');

/** @import { Histogram, Metrics, ReactorMetrics } from '../../types/running' */
/** @import { Server } from '../connection/state' */

/**
 * @param {Server} server A WebSocketServer
 * @returns {Metrics} Its counts, and those of the reactors, until now
 */
function metricsOf(server) {
  const { _admission: admission, _counts: counts, _rates: rates } = server;
  const [messages, bytes] = rates === null ? [0, 0] : rates.native.exceeded();
  const denied = admission === null ? DENIALS.map(() => 0) : admission.native.denied();
  const { open, waiting } = look(server);
  return {
    connections: { open, opened: counts.opened, closed: Object.fromEntries(counts.closed), failed: Object.fromEntries(counts.errors) },
    handshakes: {
      denied: Object.fromEntries(DENIALS.map(({ name }, index) => [name, denied[index]])),
      refused: Object.fromEntries(counts.refused),
    },
    tooFast: { messages, bytes },
    bytesWaiting: waiting,
    reactors: state.native === null ? null : reactorMetrics(state.native.metrics()),
  };
}

/**
 * @param {Server} server A WebSocketServer
 * @returns {{ open: number, waiting: number }} The number of its clients, and the bytes that wait
 * to be sent to them
 */
function look(server) {
  let [open, waiting] = [0, 0];
  for (const client of /** @type {any} */ (server).clients ?? []) {
    open++;
    waiting += client.bufferedAmount;
  }
  return { open, waiting };
}

/**
 * @param {any} native Counts of the native part
 * @returns {ReactorMetrics} The same with histograms in their public form
 */
function reactorMetrics({ delay, turn, ...totals }) {
  return { ...totals, delay: histogram(delay), turn: histogram(turn) };
}

/**
 * @param {{ buckets: number[], sum: number }} native Counts of each bucket, the first one up to
 *   1 us, each of the others up to twice as much; the sum in seconds
 * @returns {Histogram} The histogram with the counts up to each bound
 */
function histogram({ buckets, sum }) {
  let count = 0;
  const upTo = buckets.map((bucket, index) => {
    count += bucket;
    return { seconds: 2 ** index / 1e6, count };
  });
  // Times longer than the last bound are in the last bucket.
  upTo.pop();
  return { count, sum, upTo };
}

module.exports = { metricsOf };

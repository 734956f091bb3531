'use strict';

const { connectionsOf } = require('../connection/clients');
const { incoming } = require('../reactor/crossing');
const { DENIALS, MAX_RECORDS } = require('../reactor/layout');
const { state } = require('../reactor/table');

/** @import { Histogram, Metrics, ReactorMetrics } from '../../types/running' */
/** @import { Server } from '../connection/state' */

/** The first bound of the ratio of compression. */
const LEAST_RATIO = 1 / 1024;

/** A power of two, above which no batch has records. */
const LARGEST_BATCH = 2 ** Math.ceil(Math.log2(MAX_RECORDS));

/**
 * @param {Server} server A WebSocketServer
 * @returns {Metrics} Its counts, and those of the reactors, until now
 */
function metricsOf(server) {
  const { _admission: admission, _counts: counts, _rates: rates } = server;
  const [messages, bytes] = rates === null ? [0, 0] : rates.native.exceeded();
  const denied = admission === null ? DENIALS.map(() => 0) : admission.native.denied();
  return {
    connections: {
      open: counts.open,
      opened: counts.opened,
      closed: { ...counts.closed },
      ended: { ...counts.ended },
      failed: { ...counts.failed },
      exhausted: counts.exhausted,
    },
    handshakes: {
      denied: Object.fromEntries(DENIALS.map(({ name }, index) => [name, denied[index]])),
      refused: { ...counts.refused },
    },
    tooFast: { messages, bytes },
    bytesWaiting: connectionsOf(server).reduce((sum, client) => sum + client.bufferedAmount, 0),
    reactors: state.native === null ? null : reactorMetrics(state.native.metrics()),
  };
}

/**
 * @param {import('../native/binding').ReactorMetrics} native Counts of the native part
 * @returns {ReactorMetrics} The same with histograms in their public form
 */
function reactorMetrics({ batch, delay, handshake, pauses, ratio, roundTrip, turn, unsettled, ...totals }) {
  const [program, rate, behind] = pauses.map(times);
  return {
    ...totals,
    unsettled: unsettled + incoming.unsettled,
    handshake: times(handshake),
    roundTrip: times(roundTrip),
    pause: { program, rate, behind },
    delay: times(delay),
    turn: times(turn),
    batch: histogram(batch, 'records', 1, LARGEST_BATCH),
    ratio: histogram(ratio, 'ratio', LEAST_RATIO, 2),
  };
}

/** @param {Counted} native Of times @returns {Histogram} With the counts up to each bound */
function times(native) {
  return histogram(native, 'seconds', 1e-6, Infinity);
}

/**
 * @typedef {object} Counted
 * @property {number[]} buckets How many are up to a bound, to twice as much, and so on; the last
 *   one has no bound
 * @property {number} sum The sum of all
 */

/**
 * @template {string} Unit
 * @param {Counted} native Counts of the native part
 * @param {Unit} unit Name of the bounds
 * @param {number} least The first bound
 * @param {number} most No bound is above
 * @returns {Histogram<Unit>} With the counts up to each bound
 */
function histogram({ buckets, sum }, unit, least, most) {
  let count = 0;
  const upTo = /** @type {Array<Record<Unit | 'count', number>>} */ ([]);
  for (const [index, bucket] of buckets.entries()) {
    count += bucket;
    const bound = least * 2 ** index;
    if (bound <= most && index !== buckets.length - 1) upTo.push(/** @type {Record<Unit | 'count', number>} */ ({ [unit]: bound, count }));
  }
  return { count, sum, upTo };
}

module.exports = { metricsOf };

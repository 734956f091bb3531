'use strict';

const { GONE } = require('../base/bits');
const { peerOf } = require('../connection/address');
const { connectionsOf } = require('../connection/clients');
const { eventLoop } = require('./event-loop');
const { DENIALS, MAX_RECORDS, TALLY, VERSION } = require('../base/layout');
const { state } = require('../reactor/reactors');
const { openedBeforeEnds } = require('../reactor/loop-turns');

/** @import { Histogram, Metrics, ReactorMetrics, Waiting } from '../../types/running' */
/** @import { Server } from '../connection/state' */

/** @typedef {Record<'historyBudget' | 'historyBytes' | 'unfinishedBytes', number> & ReactorMetrics} Totals */

/** Begins the names of totals of TLS. */
const TLS = 'tls';

/** In a second. */
const NANOSECONDS = 1e9;

/** The first bound of compression ratios. */
const MIN_RATIO = 1 / 1024;

/** A power of two: no batch has more records. */
const MAX_BATCH = 2 ** Math.ceil(Math.log2(MAX_RECORDS));

/** @type {(server: Server) => Metrics} */
function metricsOf(server) {
  const { _admission: admission, _counts: counts, _rates: rates } = server;
  const [messages, bytes] = rates === null ? [0, 0] : rates.exceeded();
  const { active, idle, delay } = eventLoop();
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
      byJavaScript: server._obstacle(),
    },
    tooFast: { messages, bytes },
    bytesWaiting: connectionsOf(server).reduce((sum, client) => sum + client.bufferedAmount, 0),
    handover: server._handover?.counts ?? null,
    draining: server._drain !== null && !server._drain.isOver,
    dropped: { ...counts.dropped },
    adapter: server._topics?.clusterNode?.metrics() ?? null,
    versions: { package: VERSION, node: process.versions.node },
    eventLoop: { active, idle, delay: times(delay) },
    reactors: state.native === null ? null : reactorMetrics(state.native.metrics()),
  };
}

/** Those with most waiting bytes. @type {(server: Server, count: number) => Waiting[]} */
function slowest(server, count) {
  const waiting = connectionsOf(server).map((client) => ({ client, bytesWaiting: client.bufferedAmount }));
  const most = waiting.filter(({ bytesWaiting }) => bytesWaiting > 0).sort((one, other) => other.bytesWaiting - one.bytesWaiting);
  return most.slice(0, count).map(({ client, bytesWaiting }) => {
    // Null if the reactor has closed it.
    const seconds = (client._bits & GONE) === 0 ? state.native.fullFor(client._slot) : null;
    return { client, ...peerOf(client), bytesWaiting, seconds };
  });
}

/** @type {(native: import('../native/binding').ReactorMetrics) => ReactorMetrics} */
function reactorMetrics({ batch, contexts, delay, drive, handshake, pauses, ratio, roundTrip, totals, turn, ...others }) {
  const [program, rate, behind] = pauses.map(times);
  const [compression, decompression, most] = contexts;
  const all = TALLY.map((name, index) => /** @type {[name: string, total: number]} */ ([name, totals[index]]));
  const { unfinishedBytes, historyBytes, historyBudget, ...counted } = /** @type {Totals} */ (/** @type {unknown} */ (Object.fromEntries(all.filter(([name]) => !name.startsWith(TLS)))));
  return {
    ...others,
    ...counted,
    tls: tlsMetrics(Object.fromEntries(all)),
    count: state.reactors,
    drive: driveMetrics(drive),
    memory: {
      used: { unfinished: unfinishedBytes, history: historyBytes, compression, decompression },
      budget: { unfinished: state.settings?.unfinishedBudget || Infinity, history: historyBudget, compression: most, decompression: most },
    },
    unsettled: openedBeforeEnds(),
    handshake: times(handshake),
    roundTrip: times(roundTrip),
    pause: { program, rate, behind },
    delay: times(delay),
    turn: times(turn),
    batch: histogram(batch, 'records', 1, MAX_BATCH),
    ratio: histogram(ratio, 'ratio', MIN_RATIO, 2),
  };
}

/** @param {number[]} drive @returns {ReactorMetrics['drive']} */
function driveMetrics([isThread, switches, loop, thread]) {
  if (switches === undefined) return null;
  return { driver: isThread === 1 ? 'thread' : 'loop', switches, loop: loop / NANOSECONDS, thread: thread / NANOSECONDS };
}

/** @param {Record<string, number>} totals @returns {ReactorMetrics['tls']} */
function tlsMetrics({ tlsAlerts, tlsBadCertificates, tlsGone, tlsHandshakes, tlsMalformed, tlsPlainHttp, tlsRefused, tlsReused, tlsTimeouts, tlsUnreported, tlsUnshared }) {
  return {
    full: tlsHandshakes - tlsReused,
    resumed: tlsReused,
    failed: {
      unshared: tlsUnshared,
      certificate: tlsBadCertificates,
      alert: tlsAlerts,
      http: tlsPlainHttp,
      timeout: tlsTimeouts,
      gone: tlsGone,
      refused: tlsRefused,
      malformed: tlsMalformed,
    },
    unreported: tlsUnreported,
  };
}

/** How many are up to a bound, twice the bound, and so on; the last has no bound. @typedef {{ buckets: number[], sum: number }} Counted */

/** @type {(native: Counted) => Histogram} */
function times(native) {
  return histogram(native, 'seconds', 1e-6, Infinity);
}

/** @type {<Unit extends string>(native: Counted, unit: Unit, least: number, most: number) => Histogram<Unit>} */
function histogram({ buckets, sum }, unit, least, most) {
  let count = 0;
  const upTo = /** @type {any[]} */ ([]);
  for (const [index, bucket] of buckets.entries()) {
    count += bucket;
    const bound = least * 2 ** index;
    if (bound <= most && index !== buckets.length - 1) upTo.push({ [unit]: bound, count });
  }
  return { count, sum, upTo };
}

module.exports = { metricsOf, slowest };

'use strict';

// The metrics of a server by the names under which Prometheus and OpenTelemetry know them.

/** @import { Histogram, Metrics, ReactorMetrics } from '../../types/running' */

/**
 * One number.
 *
 * @typedef {object} Sample
 * @property {string} suffix Behind the name of its family: '' or, of a histogram, `_bucket`, `_sum`
 *   or `_count`
 * @property {Record<string, string>} labels What distinguishes it from the others of its family
 * @property {number} value What it is now
 */

/**
 * All numbers of one name.
 *
 * @typedef {object} Family
 * @property {string} name Of letters and underscores
 * @property {string} help What it is, for readers
 * @property {'counter' | 'gauge' | 'histogram'} type A counter only grows
 * @property {Sample[]} samples None while there are no reactors
 */

/**
 * @param {Metrics} metrics What `wss.metrics()` returns
 * @returns {Family[]} Always the same families, in the same order
 */
function familiesOf({ bytesWaiting, connections, handshakes, reactors, tooFast }) {
  return [
    gauge('connections', 'Open connections', one(connections.open)),
    counter('connections_opened', 'Connections that have opened', one(connections.opened)),
    counter('connections_closed', "Connections that have ended, by the code of 'close'", each('code', connections.closed)),
    counter('connections_ended', "Connections that have ended, by their `closeCause`", each('cause', connections.ended)),
    counter('connections_failed', "Connections that have failed, by the code of 'error'", each('code', connections.failed)),
    counter('connections_exhausted', 'Connections that were closed as they came: no descriptors were left', one(connections.exhausted)),
    counter('handshakes_denied', 'Handshakes over a limit, by limit', each('reason', handshakes.denied)),
    counter('handshakes_refused', 'Handshakes refused by JavaScript, by status', each('status', handshakes.refused)),
    counter('too_fast', 'Connections that were held back or closed', each('unit', { ...tooFast })),
    gauge('waiting_bytes', 'Bytes that wait to be sent', one(bytesWaiting)),
    ...familiesOfReactors(reactors),
  ];
}

/**
 * @param {ReactorMetrics | null} reactors Null: there are none
 * @returns {Family[]} Their families
 */
function familiesOfReactors(reactors) {
  /** @type {(samples: (reactors: ReactorMetrics) => Sample[]) => Sample[]} */
  const of = (samples) => (reactors === null ? [] : samples(reactors));
  return [
    counter('accepted', 'Sockets that were accepted', of(({ accepted }) => one(accepted))),
    counter('requests_refused', 'Requests that the reactors have refused', of(refusals)),
    counter('refusals_cut', 'Refused connections that were given no time to read why', of(({ cutRefusals }) => one(cutRefusals))),
    counter('bytes', 'Bytes of sockets of all servers of the thread', of(bytes)),
    counter('messages', 'Messages of all servers of the thread', of(messages)),
    counter('control_frames', 'Pings and pongs that have come', of(controls)),
    counter('dropped', 'Messages that slow members of topics did not get', of(({ dropped }) => one(dropped))),
    counter('unsettled', 'Arrivals that may have been ahead of what had come before', of(({ unsettled }) => one(unsettled))),
    counter('over_budget', 'Connections that were ended because of sendBudget', of(({ overBudget }) => one(overBudget))),
    counter('compressed_bytes', 'Bytes of messages that were compressed, before and after', of(compressed)),
    counter('batches', 'Batches that JavaScript has taken', of(({ batches }) => one(batches))),
    counter('records', 'Records in them', of(({ records }) => one(records))),
    gauge('undelivered_bytes', 'Bytes of batches that JavaScript has not dealt with', of(({ undelivered }) => one(undelivered))),
    histogram('handshake_seconds', 'From accepting a socket until its upgrade is accepted', of(({ handshake }) => spread(handshake))),
    histogram('round_trip_seconds', 'From a ping until its pong', of(({ roundTrip }) => spread(roundTrip))),
    histogram('pause_seconds', 'Time that connections were not read, by reason', of(pauses)),
    histogram('delay_seconds', 'From the report of the system that there is something to read until JavaScript takes it', of(({ delay }) => spread(delay))),
    histogram('turn_seconds', 'Work of a reactor between two waits', of(({ turn }) => spread(turn))),
    histogram('batch_records', 'Records of a batch', of(({ batch }) => spread(batch))),
    histogram('compression_ratio', 'Bytes of a compressed message by those before', of(({ ratio }) => spread(ratio))),
  ];
}

/** @type {(reactors: ReactorMetrics) => Sample[]} */
function refusals({ badRequests: bad, plainRequests: plain, refused, timeouts }) {
  return each('reason', { bad, plain, refused, timeouts });
}

/** @type {(reactors: ReactorMetrics) => Sample[]} */
function bytes({ bytesReceived: received, bytesSent: sent }) {
  return each('direction', { received, sent });
}

/** @type {(reactors: ReactorMetrics) => Sample[]} */
function messages({ messagesReceived, messagesSent, textsReceived, textsSent }) {
  return [
    ...each('direction', { received: textsReceived, sent: textsSent }, { kind: 'text' }),
    ...each('direction', { received: messagesReceived - textsReceived, sent: messagesSent - textsSent }, { kind: 'binary' }),
  ];
}

/** @type {(reactors: ReactorMetrics) => Sample[]} */
function controls({ pingsReceived: ping, pongsReceived: pong }) {
  return each('kind', { ping, pong });
}

/** @type {(reactors: ReactorMetrics) => Sample[]} */
function compressed({ compressedFrom: before, compressedTo: after }) {
  return each('side', { before, after });
}

/** @type {(reactors: ReactorMetrics) => Sample[]} */
function pauses({ pause }) {
  return Object.entries(pause).flatMap(([reason, times]) => spread(times, { reason }));
}

/** @type {(name: string, help: string, samples: Sample[]) => Family} */
function gauge(name, help, samples) {
  return { name: `reactor_ws_${name}`, help, type: 'gauge', samples };
}

/** @type {(name: string, help: string, samples: Sample[]) => Family} */
function counter(name, help, samples) {
  return { name: `reactor_ws_${name}_total`, help, type: 'counter', samples };
}

/** @type {(name: string, help: string, samples: Sample[]) => Family} */
function histogram(name, help, samples) {
  return { name: `reactor_ws_${name}`, help, type: 'histogram', samples };
}

/** @type {(value: number) => Sample[]} */
function one(value) {
  return [{ suffix: '', labels: {}, value }];
}

/**
 * @param {string} key The label that distinguishes the samples
 * @param {Record<string, number>} values By the value of that label
 * @param {Record<string, string>} [labels] Those of all of them
 * @returns {Sample[]} One for each
 */
function each(key, values, labels = {}) {
  return Object.entries(values).map(([which, value]) => ({ suffix: '', labels: { ...labels, [key]: which }, value }));
}

/**
 * @param {Histogram<string>} histogram Counts up to each bound
 * @param {Record<string, string>} [labels] Those of all samples
 * @returns {Sample[]} As Prometheus has histograms: buckets by the label `le`, sum and count
 */
function spread({ count, sum, upTo }, labels = {}) {
  const buckets = upTo.map(({ count: below, ...bound }) => ({ le: String(Object.values(bound)[0]), below }));
  buckets.push({ le: '+Inf', below: count });
  return [
    ...buckets.map(({ le, below }) => ({ suffix: '_bucket', labels: { ...labels, le }, value: below })),
    { suffix: '_sum', labels, value: sum },
    { suffix: '_count', labels, value: count },
  ];
}

module.exports = { familiesOf };

'use strict';

// The metrics of a server under their names in Prometheus.

/** @import { Histogram, Metrics, ReactorMetrics } from '../../types/running' */

/**
 * `suffix` follows the name of the family: '' or, in a histogram, `_bucket`, `_sum` or `_count`. Labels distinguish
 * samples of a family.
 *
 * @typedef {{ suffix: string, labels: Record<string, string>, value: number }} Sample
 */

/**
 * All numbers of one name. `isShared`: all servers of the thread have the same; `samples`: none before there are
 * reactors.
 *
 * @typedef {{ name: string, help: string, type: 'counter' | 'gauge' | 'histogram', isShared: boolean, samples: Sample[] }} Family
 */

/** @typedef {[Family['type'], string, string, (metrics: Metrics) => Sample[]]} Row */

/** @type {Row[]} */
const OF_SERVER = [
  ['gauge', 'connections', 'Open connections', ({ connections }) => one(connections.open)],
  ['counter', 'connections_opened', 'Connections that have opened', ({ connections }) => one(connections.opened)],
  ['counter', 'connections_closed', "Connections that have ended, by the code of 'close'", ({ connections }) => each('code', connections.closed)],
  ['counter', 'connections_ended', 'Connections that have ended, by closeCause', ({ connections }) => each('cause', connections.ended)],
  ['counter', 'connections_failed', "Connections that have failed, by the code of 'error'", ({ connections }) => each('code', connections.failed)],
  ['counter', 'connections_exhausted', 'Connections that were closed as they came, because no descriptors were left', ({ connections }) => one(connections.exhausted)],
  ['counter', 'handshakes_denied', 'Handshakes over a limit, by limit', ({ handshakes }) => each('reason', handshakes.denied)],
  ['counter', 'handshakes_refused', 'Handshakes refused by JavaScript, by status', ({ handshakes }) => each('status', handshakes.refused)],
  ['gauge', 'handshakes_by_javascript', 'Whether JavaScript answers upgrades, and not the reactors', ({ handshakes }) => one(Number(handshakes.byJavaScript !== null))],
  ['counter', 'too_fast', 'Connections that were held back or closed', ({ tooFast }) => each('unit', { ...tooFast })],
  ['gauge', 'waiting_bytes', 'Bytes that wait to be sent', ({ bytesWaiting }) => one(bytesWaiting)],
  ['gauge', 'draining', 'Whether drain() is under way', ({ draining }) => one(Number(draining))],
  ['counter', 'handover', 'Connections that have moved between processes or were declined, and conversations that failed', ({ handover }) => (handover === null ? [] : each('result', { moved: handover.moved, taken: handover.taken, declined: handover.declined, failed: handover.failed }))],
  ['counter', 'handover_stayed', 'Connections that could not move, by the reason', ({ handover }) => (handover === null ? [] : each('reason', handover.stayed))],
  ['counter', 'handover_bytes', 'Bytes of their state', ({ handover }) => (handover === null ? [] : one(handover.bytes))],
  ['gauge', 'handover_seconds', 'How long the last conversation has taken', ({ handover }) => (handover === null ? [] : one(handover.duration))],
  ['gauge', 'handover_pause_seconds', 'For how long connections were not read in it', ({ handover }) => (handover === null ? [] : one(handover.pause))],
  ['gauge', 'adapter_connected', 'Whether the adapter has its broker', ({ adapter }) => (adapter === null ? [] : one(Number(adapter.state === 'connected')))],
  ['gauge', 'adapter_lag_seconds', 'For how long the oldest message waits that the broker has not confirmed', ({ adapter }) => (adapter === null ? [] : one(adapter.lag))],
  ['gauge', 'adapter_waiting_bytes', 'Bytes of messages that the broker has not confirmed', ({ adapter }) => (adapter === null ? [] : one(adapter.bytesWaiting))],
  ['gauge', 'adapter_topics', 'Topics that this node follows', ({ adapter }) => (adapter === null ? [] : one(adapter.topics))],
  ['counter', 'adapter_messages', 'Messages that went to the broker and came from it', ({ adapter }) => (adapter === null ? [] : each('direction', { sent: adapter.sent, received: adapter.received }))],
  ['counter', 'adapter_bytes', 'Their bytes', ({ adapter }) => (adapter === null ? [] : each('direction', { sent: adapter.bytesSent, received: adapter.bytesReceived }))],
  ['counter', 'adapter_lost', 'Messages that did not get to the broker, or were not understood, by reason', ({ adapter }) => (adapter === null ? [] : each('reason', { dropped: adapter.dropped, failed: adapter.failed, ignored: adapter.ignored }))],
  ['counter', 'adapter_reconnects', 'How often the adapter has had its broker again', ({ adapter }) => (adapter === null ? [] : one(adapter.reconnects))],
  ['counter', 'adapter_gaps', 'How often messages of a topic may have been missed', ({ adapter }) => (adapter === null ? [] : one(adapter.gaps))],
  ['counter', 'topic_dropped', 'Messages that slow members did not get, by topic', ({ dropped }) => each('topic', dropped)],
];

/** @type {Row[]} */
const OF_THREAD = [
  ['gauge', 'info', 'The versions of this package and of Node', ({ versions }) => [{ suffix: '', labels: { ...versions }, value: 1 }]],
  ['counter', 'event_loop_seconds', 'Time that the event loop has worked or waited', ({ eventLoop: { active, idle } }) => each('state', { active, idle })],
  ['histogram', 'event_loop_delay_seconds', 'By how much timers were late', ({ eventLoop }) => spread(eventLoop.delay)],
];

/** @type {Array<[Family['type'], string, string, (reactors: ReactorMetrics) => Sample[]]>} */
const OF_REACTORS = [
  ['gauge', 'reactors', 'Reactors of the thread', ({ count }) => one(count)],
  ['counter', 'accepted', 'Sockets that were accepted', ({ accepted }) => one(accepted)],
  ['counter', 'requests_refused', 'Requests that the reactors have refused', ({ badRequests: bad, plainRequests: plain, refused, timeouts }) => each('reason', { bad, plain, refused, timeouts })],
  ['counter', 'handed_off', 'Connections that HTTP servers of the program got', ({ handedOff }) => one(handedOff)],
  ['counter', 'refusals_cut', 'Refused connections that were given no time to read why', ({ cutRefusals }) => one(cutRefusals)],
  ['counter', 'tls_handshakes', 'Handshakes of TLS', ({ tls: { full, resumed } }) => each('session', { full, resumed })],
  ['counter', 'tls_failures', 'Handshakes of TLS that have failed', ({ tls }) => each('reason', tls.failed)],
  ['counter', 'tls_unreported', "Failures without a 'tlsClientError'", ({ tls }) => one(tls.unreported)],
  ['counter', 'bytes', 'Bytes of sockets of all servers of the thread', ({ bytesReceived: received, bytesSent: sent }) => each('direction', { received, sent })],
  ['counter', 'messages', 'Messages of all servers of the thread', messages],
  ['counter', 'control_frames', 'Pings and pongs that have come', ({ pingsReceived: ping, pongsReceived: pong }) => each('kind', { ping, pong })],
  ['counter', 'dropped', 'Messages that slow members of topics did not get', ({ dropped }) => one(dropped)],
  ['counter', 'unsettled', 'Connections that have opened before an end that had come before', ({ unsettled }) => one(unsettled)],
  ['counter', 'over_budget', 'Connections that were ended because of sendBudget', ({ overBudget }) => one(overBudget)],
  ['counter', 'compressed_bytes', 'Bytes of messages that were compressed, before and after', ({ compressedFrom: before, compressedTo: after }) => each('side', { before, after })],
  ['gauge', 'memory_bytes', 'Memory that has a budget', ({ memory }) => each('budget', memory.used)],
  ['gauge', 'budget_bytes', 'Configured memory limit; absent if unlimited', ({ memory }) => each('budget', memory.budget).filter(({ value }) => value !== Infinity)],
  ['counter', 'batches', 'Batches that JavaScript has taken', ({ batches }) => one(batches)],
  ['counter', 'records', 'Records in them', ({ records }) => one(records)],
  ['gauge', 'undelivered_bytes', 'Bytes of batches that JavaScript has not dealt with', ({ undelivered }) => one(undelivered)],
  ['histogram', 'handshake_seconds', 'From accepting a socket until its upgrade is accepted', ({ handshake }) => spread(handshake)],
  ['histogram', 'round_trip_seconds', 'From a ping until its pong', ({ roundTrip }) => spread(roundTrip)],
  ['histogram', 'pause_seconds', 'Time that connections were not read, by reason', ({ pause }) => Object.entries(pause).flatMap(([reason, times]) => spread(times, { reason }))],
  ['histogram', 'delay_seconds', 'From the report of the system that there is something to read until JavaScript takes it', ({ delay }) => spread(delay)],
  ['histogram', 'turn_seconds', 'Work of a reactor between two waits', ({ turn }) => spread(turn)],
  ['histogram', 'batch_records', 'Records of a batch', ({ batch }) => spread(batch)],
  ['histogram', 'compression_ratio', 'Bytes of a compressed message by those before', ({ ratio }) => spread(ratio)],
];

/** Always the same, in the same order. @type {(metrics: Metrics) => Family[]} */
function familiesOf(metrics) {
  const { reactors } = metrics;
  const ofReactors = OF_REACTORS.map(([type, name, help, samples]) => /** @type {Row} */ ([type, name, help, () => (reactors === null ? [] : samples(reactors))]));
  return [...OF_SERVER, ...OF_THREAD, ...ofReactors].map(([type, name, help, samples], index) => ({
    name: `reactor_ws_${name}${type === 'counter' ? '_total' : ''}`,
    help,
    type,
    isShared: index >= OF_SERVER.length,
    samples: samples(metrics),
  }));
}

/** @param {ReactorMetrics} reactors */
function messages({ messagesReceived, messagesSent, textsReceived, textsSent }) {
  return [
    ...each('direction', { received: textsReceived, sent: textsSent }, { kind: 'text' }),
    ...each('direction', { received: messagesReceived - textsReceived, sent: messagesSent - textsSent }, { kind: 'binary' }),
  ];
}

/** @type {(value: number) => Sample[]} */
function one(value) {
  return [{ suffix: '', labels: {}, value }];
}

/** @type {(key: string, values: Record<string, number>, labels?: Record<string, string>) => Sample[]} */
function each(key, values, labels = {}) {
  return Object.entries(values).map(([which, value]) => ({ suffix: '', labels: { ...labels, [key]: which }, value }));
}

/**
 * A histogram of Prometheus: buckets by the label `le`, sum and count.
 *
 * @type {(histogram: Histogram<string>, labels?: Record<string, string>) => Sample[]}
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

/** Labels of our own samples. */
const OWN_LABELS = ['budget', 'cause', 'code', 'direction', 'kind', 'le', 'node', 'package', 'reason', 'result', 'session', 'side', 'state', 'status', 'topic', 'unit'];

module.exports = { OWN_LABELS, familiesOf };

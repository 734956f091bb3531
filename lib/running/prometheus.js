'use strict';

/** @import { Histogram, Metrics } from '../../types/running' */

/** The version of the text format. */
const contentType = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * The metrics of a server in the text format of Prometheus.
 *
 * @param {{ metrics(): Metrics }} server A WebSocketServer
 * @param {Record<string, string>} [labels] Labels of every sample, such as `{ server: 'chat' }`
 * @returns {string} Lines, to be sent with `contentType`
 */
function prometheus(server, labels = {}) {
  const { bytesWaiting, connections, handshakes, reactors, tooFast } = server.metrics();
  const text = new Text(labels);
  text.gauge('reactor_ws_connections', 'Open connections', connections.open);
  text.counter('reactor_ws_connections_opened_total', 'Connections that have opened', connections.opened);
  text.counters('reactor_ws_connections_closed_total', "Connections that have ended, by the code of 'close'", 'code', connections.closed);
  text.counters('reactor_ws_handshakes_denied_total', 'Handshakes over a limit, by limit', 'reason', handshakes.denied);
  text.counters('reactor_ws_handshakes_refused_total', 'Handshakes refused by JavaScript, by status', 'status', handshakes.refused);
  text.counters('reactor_ws_connections_failed_total', "Connections that have failed, by the code of 'error'", 'code', connections.failed);
  text.counters('reactor_ws_too_fast_total', 'Connections that were held back or closed', 'unit', tooFast);
  text.gauge('reactor_ws_waiting_bytes', 'Bytes that wait to be sent', bytesWaiting);
  if (reactors !== null) reactorsTo(text, reactors);
  return text.toString();
}

/**
 * @param {Text} text Gets the samples
 * @param {import('../../types/running').ReactorMetrics} reactors Their numbers until now
 */
function reactorsTo(text, reactors) {
  const { bytesReceived, bytesSent, messagesReceived, messagesSent } = reactors;
  const traffic = { received: bytesReceived, sent: bytesSent };
  text.counters('reactor_ws_bytes_total', 'Bytes of sockets of all servers of the thread', 'direction', traffic);
  const messages = { received: messagesReceived, sent: messagesSent };
  text.counters('reactor_ws_messages_total', 'Messages of all servers of the thread', 'direction', messages);
  text.counter('reactor_ws_accepted_total', 'Sockets that were accepted', reactors.accepted);
  const { badRequests: bad, plainRequests: plain, refused, timeouts } = reactors;
  text.counters('reactor_ws_requests_refused_total', 'Requests that the reactors have refused', 'reason', { bad, plain, refused, timeouts });
  text.counter('reactor_ws_batches_total', 'Batches that JavaScript has taken', reactors.batches);
  text.counter('reactor_ws_records_total', 'Records in them', reactors.records);
  text.gauge('reactor_ws_undelivered_bytes', 'Bytes of batches that JavaScript has not dealt with', reactors.undelivered);
  text.histogram('reactor_ws_delay_seconds', 'From the end of a turn of a reactor until JavaScript takes what it has read', reactors.delay);
  text.histogram('reactor_ws_turn_seconds', 'Work of a reactor between two waits', reactors.turn);
}

/** Samples with their names, line by line. */
class Text {
  /** @param {Record<string, string>} labels Labels of every sample, by name */
  constructor(labels) {
    this.labels = Object.entries(labels).map(([name, value]) => label(name, value));
    /** @type {string[]} */
    this.lines = [];
  }

  /**
   * @param {string} name Name of the sample, without labels
   * @param {string} help Description for readers
   * @param {number} value Value at present
   */
  gauge(name, help, value) {
    this.head(name, help, 'gauge');
    this.sample(name, [], value);
  }

  /**
   * @param {string} name Name of the sample, without labels
   * @param {string} help Description for readers
   * @param {number} value Its count until now
   */
  counter(name, help, value) {
    this.head(name, help, 'counter');
    this.sample(name, [], value);
  }

  /**
   * @param {string} name Name of the sample, without labels
   * @param {string} help Description for readers
   * @param {string} key The label that distinguishes the samples
   * @param {Record<string, number>} values By the value of that label
   */
  counters(name, help, key, values) {
    this.head(name, help, 'counter');
    for (const [which, value] of Object.entries(values)) this.sample(name, [label(key, which)], value);
  }

  /**
   * @param {string} name Name of the sample, without labels
   * @param {string} help Description for readers
   * @param {Histogram} histogram Counts by seconds
   */
  histogram(name, help, { count, sum, upTo }) {
    this.head(name, help, 'histogram');
    for (const { seconds, count: below } of upTo) this.sample(`${name}_bucket`, [label('le', String(seconds))], below);
    this.sample(`${name}_bucket`, [label('le', '+Inf')], count);
    this.sample(`${name}_sum`, [], sum);
    this.sample(`${name}_count`, [], count);
  }

  /**
   * @param {string} name Name of the sample, without labels
   * @param {string} help Description for readers
   * @param {string} type `counter`, `gauge` or `histogram`
   */
  head(name, help, type) {
    this.lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
  }

  /**
   * @param {string} name Name of the sample, without labels
   * @param {string[]} labels Labels of this sample beside those of all, as they are written
   * @param {number} value Its number
   */
  sample(name, labels, value) {
    const all = [...this.labels, ...labels];
    this.lines.push(`${name}${all.length === 0 ? '' : `{${all.join()}}`} ${value}`);
  }

  toString() {
    return this.lines.join('\n') + '\n';
  }
}

/**
 * @param {string} name Letters and underscores
 * @param {string} value Any text
 * @returns {string} The label as written
 */
function label(name, value) {
  const escaped = String(value).replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
  return `${name}="${escaped}"`;
}

module.exports = { contentType, prometheus };

'use strict';

const { familiesOf } = require('./families');

/** @import { Metrics } from '../../types/running' */
/** @import { Registry } from '../../types/prometheus' */
/** @import { Family, Sample } from './families' */

/** The version of the text format. */
const contentType = 'text/plain; version=0.0.4; charset=utf-8';

/** @typedef {{ metrics(): Metrics }} Server A WebSocketServer */

/**
 * A number as prom-client has it.
 *
 * @typedef {{ metricName?: string, labels: Record<string, string>, value: number }} Value
 */

/**
 * The numbers of one name as prom-client has them.
 *
 * @typedef {Omit<Family, 'samples'> & { values: Value[], aggregator: 'sum' }} Values
 */

/** What the registries show: the labels of each server. @type {WeakMap<Registry, Shown>} */
const registries = new WeakMap();

/**
 * The metrics of a server in the text format of Prometheus.
 *
 * @param {Server} server A WebSocketServer
 * @param {Record<string, string>} [labels] Labels of every sample, such as `{ server: 'chat' }`
 * @returns {string} Lines, to be sent with `contentType`
 */
function prometheus(server, labels = {}) {
  const own = Object.entries(labels).map(([name, value]) => label(name, value));
  const lines = [];
  for (const { name, help, type, samples } of familiesOf(server.metrics())) {
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
    for (const sample of samples) lines.push(lineOf(name, own, sample));
  }
  return lines.join('\n') + '\n';
}

/**
 * Shows the metrics of a server in a registry of prom-client, beside what is there.
 *
 * @param {Server} server A WebSocketServer
 * @param {Registry} registry As `register` of prom-client
 * @param {Record<string, string>} [labels] Labels of every sample: they tell servers apart
 * @returns {() => void} Takes them out again
 */
function register(server, registry, labels = {}) {
  let shown = registries.get(registry);
  if (shown === undefined) {
    registries.set(registry, (shown = new Shown()));
    for (const family of familiesOf(server.metrics())) registry.registerMetric(shown.metric(family));
  }
  shown.servers.set(server, labels);
  const { servers } = shown;
  return () => {
    servers.delete(server);
    if (servers.size !== 0 || registries.get(registry)?.servers !== servers) return;
    registries.delete(registry);
    for (const { name } of familiesOf(server.metrics())) registry.removeSingleMetric(name);
  };
}

/** The servers of a registry. */
class Shown {
  constructor() {
    /** @type {Map<Server, Record<string, string>>} */
    this.servers = new Map();
    /** What the metrics were in this turn of the event loop. @type {Map<string, Values> | null} */
    this.current = null;
  }

  /**
   * @param {Family} family The numbers of one name
   * @returns {object} A metric for prom-client, which takes `_total` away from its name where the
   *   format adds that
   */
  metric({ name, help, type }) {
    const metric = { name, help, type, reset: () => {}, get: async () => ({ ...this.look().get(name), name: metric.name }) };
    return metric;
  }

  /** @returns {Map<string, Values>} By name. A scrape asks for all of them in one turn */
  look() {
    if (this.current !== null) return this.current;
    this.current = new Map();
    for (const [server, labels] of this.servers) {
      for (const { name, help, type, samples } of familiesOf(server.metrics())) {
        const values = samples.map((sample) => valueOf(name, labels, sample));
        const family = this.current.get(name);
        if (family === undefined) this.current.set(name, { name, help, type, values, aggregator: 'sum' });
        else family.values.push(...values);
      }
    }
    setImmediate(() => (this.current = null));
    return this.current;
  }
}

/**
 * @param {string} name That of the family
 * @param {Record<string, string>} own Labels of every sample
 * @param {Sample} sample A number of the family
 * @returns {Value} As prom-client has it, which names a counter by itself, as the format asks for
 */
function valueOf(name, own, { suffix, labels, value }) {
  const all = { ...own, ...labels };
  return suffix === '' ? { labels: all, value } : { metricName: name + suffix, labels: all, value };
}

/**
 * @param {string} name That of the family
 * @param {string[]} own Labels of every sample, as they are written
 * @param {Sample} sample A number of the family
 * @returns {string} Its line
 */
function lineOf(name, own, { suffix, labels, value }) {
  const all = [...own, ...Object.entries(labels).map(([key, text]) => label(key, text))];
  return `${name}${suffix}${all.length === 0 ? '' : `{${all.join()}}`} ${value}`;
}

/**
 * @param {string} name Letters and underscores
 * @param {string} value Any text
 * @returns {string} As it is written
 */
function label(name, value) {
  const escaped = String(value).replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
  return `${name}="${escaped}"`;
}

module.exports = { contentType, prometheus, register };

'use strict';

const { inspect } = require('node:util');

const { OWN_LABELS, familiesOf } = require('./families');

/** @import { Metrics } from '../../types/running' */
/** @import { Family, Sample } from './families' */

/** The content type of the text format. */
const contentType = 'text/plain; version=0.0.4; charset=utf-8';

/** @typedef {{ metrics(): Metrics }} Server A WebSocketServer */

/** @typedef {Record<string, string>} Labels */

/**
 * Metrics in the text format of Prometheus, to send with `contentType`. Every sample has `labels`.
 *
 * @type {(servers: Server | Iterable<[Server, Labels]>, labels?: Labels) => string}
 * @throws {RangeError} For a wrong label, or the same labels twice
 */
function prometheus(servers, labels = {}) {
  check(labels);
  const all = /** @type {Array<[Server, Labels]>} */ ('metrics' in servers ? [[servers, {}]] : [...servers]);
  const known = /** @type {Labels[]} */ ([]);
  for (const [, own] of all) known.push(checkNew({ ...labels, ...own }, known));
  const lines = [];
  for (const { name, help, type, samples } of collect(all, labels).values()) {
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
    for (const sample of samples) lines.push(lineOf(name, sample));
  }
  return lines.map((line) => `${line}\n`).join('');
}

/** By name. What servers share appears once. @type {(servers: Iterable<[Server, Labels]>, labels: Labels) => Map<string, Family>} */
function collect(servers, labels) {
  const all = new Map();
  for (const [server, own] of servers) {
    for (const family of familiesOf(server.metrics())) {
      const { name, isShared } = family;
      const known = all.get(name);
      if (known !== undefined && isShared) continue;
      const mine = isShared ? labels : { ...labels, ...own };
      const samples = family.samples.map((sample) => ({ ...sample, labels: { ...mine, ...sample.labels } }));
      if (known === undefined) all.set(name, { ...family, samples });
      else known.samples.push(...samples);
    }
  }
  return all;
}

/** @param {Labels} labels */
function check(labels) {
  for (const name of Object.keys(labels)) {
    if (!/^(?!__)[a-zA-Z_]\w*$/.test(name)) throw new RangeError(`${inspect(name)} is no name of a label: letters, digits and _`);
    if (OWN_LABELS.includes(name)) throw new RangeError(`The label ${name} has a meaning of its own`);
  }
}

/** @type {(labels: Labels, others: Labels[]) => Labels} */
function checkNew(labels, others) {
  check(labels);
  const isSame = (/** @type {Labels} */ other) => {
    const names = Object.keys(labels);
    return names.length === Object.keys(other).length && names.every((name) => String(labels[name]) === String(other[name]));
  };
  if (others.some(isSame)) throw new RangeError(`Two servers have the labels ${inspect(labels)}, so their figures could not be told apart`);
  return labels;
}

/** @type {(name: string, sample: Sample) => string} */
function lineOf(name, { suffix, labels, value }) {
  const all = Object.entries(labels).map(([key, text]) => `${key}="${escaped(text)}"`);
  return `${name}${suffix}${all.length === 0 ? '' : `{${all.join()}}`} ${value}`;
}

/** @param {string} text */
function escaped(text) {
  return String(text).replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}

module.exports = { contentType, prometheus };

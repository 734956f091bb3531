// Runs benchmark/engine.rs and reads the results of Criterion.
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { rootDir, targetDir } from './paths.mjs';

/**
 * @typedef {object} Micro Figures of one benchmark; the metric is the unit of its throughput
 * @property {number} ns Nanoseconds of a turn, median
 * @property {[number, number]} interval Of `ns`, at 95 % confidence
 * @property {number} [gib_per_s]
 * @property {number} [ns_per_frame]
 */

/**
 * @returns {Record<string, Micro>} By name: group/function/parameter
 */
export function runMicro() {
  const results = join(targetDir, 'criterion');
  rmSync(results, { recursive: true, force: true });
  const words = ['bench', '--quiet', '--no-default-features', '--bench', 'engine', '--'];
  const short = ['--warm-up-time', '0.3', '--measurement-time', '1', '--noplot'];
  const run = spawnSync('cargo', [...words, ...short], { cwd: rootDir, encoding: 'utf8' });
  if (run.status !== 0) throw new Error(`cargo ${words.join(' ')}: ${run.status ?? run.signal ?? run.error}\n${run.stderr}`);
  return readMicro(results);
}

/**
 * @param {string} directory Where Criterion writes
 * @returns {Record<string, Micro>}
 */
function readMicro(directory) {
  const files = readdirSync(directory, { recursive: true }).map(String);
  const byName = new Intl.Collator('en', { numeric: true }).compare;
  const measured = files.filter((name) => name.endsWith(join('new', 'estimates.json'))).sort(byName);
  return Object.fromEntries(measured.map((name) => one(join(directory, dirname(name)))));
}

/**
 * @param {string} directory Of one benchmark
 * @returns {[string, Micro]}
 */
function one(directory) {
  const read = (/** @type {string} */ name) => JSON.parse(readFileSync(join(directory, name), 'utf8'));
  const { full_id: name, throughput } = read('benchmark.json');
  const { median } = read('estimates.json');
  const ns = round(median.point_estimate);
  const { lower_bound: low, upper_bound: high } = median.confidence_interval;
  /** @type {Micro} */
  const micro = { ns, interval: [round(low), round(high)] };
  if (throughput?.Bytes) micro.gib_per_s = round((throughput.Bytes / 2 ** 30 / ns) * 1e9);
  if (throughput?.Elements) micro.ns_per_frame = round(ns / throughput.Elements);
  return [name, micro];
}

/**
 * @param {number} value
 */
function round(value) {
  return Math.round(value * 1000) / 1000;
}

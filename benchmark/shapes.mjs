// What is measured: the shapes of load, the candidates, and what the product promises about them.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const benchmarkDir = fileURLToPath(new URL('.', import.meta.url));
export const rootDir = join(benchmarkDir, '..');
export const targetDir = process.env.CARGO_TARGET_DIR ?? join(rootDir, 'target');
export const loadBinary = join(targetDir, 'release', 'load');

/**
 * @typedef {object} Shape
 * @property {string} text What it is, in words
 * @property {Record<string, string | number | boolean>} load Options of the load generator, without the dashes
 * @property {boolean} [unpinned] Whether server and load generator may use all CPUs
 * @property {number} [rounds] Most rounds it is worth
 * @property {boolean} [full] Whether it is only measured with --full
 * @property {boolean} [quiet] Whether the first round also checks that the server uses no CPU afterwards
 * @property {boolean} [ingest] Whether the server counts instead of echoing
 * @property {boolean} [deflate] Whether messages are compressed, each by itself
 */

/** @type {Record<string, Shape>} Named connections x payload bytes [x in flight] [-what differs]. */
export const shapes = {
  '100x20': { text: '100 connections, 20 B', load: { connections: 100, payload: 20 }, quiet: true },
  '100x20x32': { text: '100 connections, 20 B, 32 in flight', load: { connections: 100, payload: 20, 'in-flight': 32 } },
  '10x1024': { text: '10 connections, 1 KiB', load: { connections: 10, payload: 1024, binary: true } },
  '10x16384': { text: '10 connections, 16 KiB', load: { connections: 10, payload: 16384, binary: true } },
  '200x16384': { text: '200 connections, 16 KiB', load: { connections: 200, payload: 16384, binary: true } },
  '500x16384': { text: '500 connections, 16 KiB', load: { connections: 500, payload: 16384, binary: true } },
  '1x20': { text: '1 connection, 20 B', load: { mode: 'latency', payload: 20 } },
  '1x20-unpinned': { text: '1 connection, 20 B, all CPUs', load: { mode: 'latency', payload: 20 }, unpinned: true },
  'idle-10000': { text: '10,000 idle connections', load: { mode: 'idle', connections: 10_000 }, rounds: 3 },
  'deflate-100x1024': {
    text: '100 connections, 1 KiB JSON, compressed',
    load: { connections: 100, payload: 1024, deflate: true },
    deflate: true,
  },
  'deflate-100x16384': {
    text: '100 connections, 16 KiB JSON, compressed',
    load: { connections: 100, payload: 16384, deflate: true },
    deflate: true,
  },
  'deflate-idle-10000': {
    text: '10,000 connections idle after 20 compressed echoes of 1 KiB',
    load: { mode: 'idle', connections: 10_000, payload: 1024, touch: 20, deflate: true },
    deflate: true,
    rounds: 3,
  },
  '100x20-binary': {
    text: '100 connections, 20 B binary',
    load: { connections: 100, payload: 20, binary: true },
    full: true,
  },
  '200x16384-text': {
    text: '200 connections, 16 KiB text',
    load: { connections: 200, payload: 16384 },
    full: true,
  },
  '100x20-paced': {
    text: '100 connections, 20 B every 20 ms',
    load: { connections: 100, payload: 20, 'pace-ms': 20 },
    full: true,
  },
  '100x20-ingest': {
    text: '100 connections, 20 B, one way',
    load: { mode: 'ingest', connections: 100, payload: 20 },
    full: true,
    ingest: true,
  },
  'idle-10000-used': {
    text: '10,000 connections idle after an echo',
    load: { mode: 'idle', connections: 10_000, touch: 1 },
    full: true,
    rounds: 3,
  },
  rate: { text: 'handshakes, 20 at a time', load: { mode: 'rate', connections: 20 }, full: true },
};

/**
 * @typedef {object} Candidate
 * @property {string} text What it is, in words
 * @property {string[]} command Program and arguments; {port} in them is replaced by a free port
 * @property {string} [missing] Why it cannot run, and what to do about it
 * @property {boolean} [rough] Whether it is ad hoc: not asked for the closing handshake
 * @property {boolean} [echoOnly] Whether it has no variants: only echoes, and what is not compressed
 */

/**
 * @returns {Record<string, Candidate>}
 */
export function candidates() {
  const server = (/** @type {string} */ name) => [process.execPath, join(benchmarkDir, 'servers', `${name}.mjs`)];
  const example = join(targetDir, 'release', 'examples', 'reactor_echo');
  const addon = join(rootDir, 'lib', 'native');
  const built = existsSync(addon) && readdirSync(addon).some((name) => name.endsWith('.node'));
  return {
    ws: { text: 'ws', command: server('ws') },
    reactor: { text: 'reactor-ws', command: server('reactor'), missing: built ? undefined : 'build the addon: npm run build' },
    reactor_adopted: {
      text: 'reactor-ws behind node:http',
      command: server('adopted'),
      missing: built ? undefined : 'build the addon: npm run build',
    },
    uws: {
      text: 'uWebSockets.js',
      command: server('uws'),
      missing: process.env.UWS_PATH ? undefined : 'set UWS_PATH to the directory of uWebSockets.js',
    },
    reactor_echo: {
      text: 'reactor without JavaScript',
      command: [example],
      echoOnly: true,
      missing: existsSync(example)
        ? undefined
        : 'build it: cargo build --release --no-default-features --features reactor --example reactor_echo',
    },
    mio_echo: { text: 'bare mio loop', command: [join(targetDir, 'release', 'mio_echo')], echoOnly: true },
  };
}

/** Ratios are to these candidates. */
export const baselines = ['ws', 'reactor_echo'];

/**
 * @typedef {object} Target
 * @property {string} shape
 * @property {string} metric
 * @property {string} text The metric in words
 * @property {number} limit Most that the ratio, or without `against` the figure, may be
 * @property {string} [against] Candidate that the ratio is to
 */

/** @type {Target[]} What reactor-ws is to reach. */
export const targets = [
  { shape: '100x20', metric: 'cpu_ns_per_msg', text: 'CPU of all threads', against: 'ws', limit: 0.6 },
  { shape: '100x20', metric: 'cpu_ns_per_msg', text: 'CPU of all threads', against: 'reactor_echo', limit: 1.1 },
  { shape: '100x20x32', metric: 'cpu_ns_per_msg', text: 'CPU of all threads', against: 'ws', limit: 1 / 25 },
  { shape: '200x16384', metric: 'cpu_ns_per_msg', text: 'CPU of all threads', against: 'ws', limit: 0.6 },
  { shape: '100x20', metric: 'js_cpu_ns_per_msg', text: 'CPU of the JavaScript thread', against: 'ws', limit: 1 / 12 },
  { shape: '100x20x32', metric: 'js_cpu_ns_per_msg', text: 'CPU of the JavaScript thread', against: 'ws', limit: 1 / 60 },
  { shape: '200x16384', metric: 'js_cpu_ns_per_msg', text: 'CPU of the JavaScript thread', against: 'ws', limit: 1 / 5 },
  { shape: '1x20-unpinned', metric: 'p50_us', text: 'median round trip', against: 'ws', limit: 1 },
  { shape: '100x20', metric: 'idle_cpu_us_per_s', text: 'CPU of an idle server, us per s', limit: 0 },
  { shape: 'idle-10000', metric: 'idle_cpu_us_per_s', text: 'CPU of an idle server, us per s', limit: 0 },
  { shape: 'idle-10000', metric: 'rss_per_connection_bytes', text: 'memory per idle connection, B', limit: 1024 },
];

// The targets of the figures.
import { TAILS, shapes } from './shapes.mjs';
import { topicShapes } from './topic-shapes.mjs';

/**
 * @typedef {object} Target
 * @property {string} shape
 * @property {string} metric
 * @property {string} text The metric in words
 * @property {number} limit The greatest ratio or difference; without `against` the greatest figure
 * @property {boolean} [least] Whether `limit` is the least instead
 * @property {string} [against] Candidate that the figure is compared with
 * @property {boolean} [difference] Whether it is compared as a difference instead of a ratio
 * @property {string} [candidate] Whose figure it is, reactor without it
 */

/** Ratios in tables are to these candidates. */
export const baselines = ['ws', 'uws', 'reactor_echo'];
/** The floor that the kernel sets. */
export const FLOOR = 'mio_echo';

const CPU = { metric: 'cpu_ns_per_msg', text: 'CPU of all threads' };
const JS = { metric: 'js_cpu_ns_per_msg', text: 'CPU of the JavaScript thread' };
const PUBLISH = { metric: 'js_cpu_ns_per_publish', text: 'CPU of the JavaScript thread per publish' };
const IDLE = { metric: 'idle_cpu_us_per_s', text: 'CPU of an idle server, us per s', limit: 0 };
const RATE = { metric: 'msgs_per_s', text: 'messages per second', least: true };

/** @type {Target[]} */
export const targets = [
  { shape: '100x20', ...CPU, against: 'ws', limit: 0.55 },
  { shape: '100x20', ...CPU, against: 'uws', limit: 0.85 },
  { shape: '100x20', ...CPU, against: 'reactor_echo', limit: 1.05 },
  { shape: '100x20', ...JS, against: 'ws', limit: 1 / 20 },
  { shape: '100x20x32', ...CPU, against: 'ws', limit: 1 / 35 },
  { shape: '100x20x32', ...CPU, against: 'uws', limit: 1 / 3.5 },
  { shape: '100x20x32', ...CPU, against: 'uws_cpp', limit: 1.3 },
  { shape: '100x20x32', ...JS, against: 'ws', limit: 1 / 80 },
  { shape: '10x1024', ...CPU, against: 'ws', limit: 0.6 },
  { shape: '10x1024', ...CPU, against: 'uws', limit: 1 },
  { shape: '10x1024', ...JS, against: 'ws', limit: 1 / 8 },
  ...['deflate-100x1024', 'deflate-100x16384'].flatMap((shape) => [
    { shape, ...CPU, against: 'ws', limit: shape === 'deflate-100x1024' ? 1 / 4 : 1 / 2.5 },
    { shape, ...CPU, against: 'uws', limit: 1 / 1.2 },
    { shape, ...JS, against: 'ws', limit: 1 / 50 },
  ]),
  {
    shape: 'deflate-idle-10000',
    metric: 'rss_per_connection_bytes',
    text: 'memory per connection',
    against: 'ws',
    limit: 1 / 3,
  },
  ...['10x16384', '200x16384', '500x16384'].flatMap((shape) => [
    { shape, ...CPU, against: 'ws', limit: 0.5 },
    { shape, ...CPU, against: 'uws', limit: 1 },
    { shape, ...JS, against: 'ws', limit: 1 / 10 },
  ]),
  ...['push-100x20', 'push-100x1024', 'push-100x16384'].map((shape) => ({ shape, ...CPU, against: 'uws', limit: 1 })),
  ...TAILS.map((shape) => ({ shape, metric: 'p999_us', text: 'round trip, p99.9', against: 'uws', limit: 1 })),
  { shape: 'ingest-100x1024', ...CPU, against: 'ws', limit: 0.4 },
  { shape: 'ingest-100x1024', ...JS, against: 'ws', limit: 1 / 25 },
  ...['rate', 'rate-settled'].flatMap((shape) => [
    { shape, metric: 'cpu_ns_per_handshake', text: 'CPU per handshake', against: 'ws', limit: 0.25 },
    { shape, metric: 'js_cpu_ns_per_handshake', text: JS.text, against: 'ws', limit: 1 / 10 },
  ]),
  { shape: '1x20-unpinned', metric: 'p50_us', text: 'median round trip', against: 'ws', limit: 0.9 },
  { shape: '1x20-unpinned', metric: 'p50_us', text: 'median round trip', against: 'uws', limit: 1 },
  { shape: '1x20-unpinned', metric: 'p999_us', text: 'round trip, p99.9', against: 'ws', limit: 0.5 },
  { shape: '1x20-unpinned', metric: 'p50_us', text: 'median round trip', candidate: 'reactor_inline', against: 'ws', limit: 0.9 },
  { shape: '1x20-unpinned', metric: 'p50_us', text: 'median round trip', candidate: 'reactor_inline', against: 'uws', limit: 1 },
  ...Object.keys(shapes)
    .filter((shape) => shapes[shape].view === 'throughput')
    .map((shape) => ({ shape, ...RATE, against: 'ws', limit: 1.5 })),
  ...Object.keys(shapes)
    .filter((shape) => shapes[shape].task?.startsWith('tls'))
    .map((shape) => ({ shape, ...CPU, against: 'ws', limit: 1 })),
  ...['tls-100x20', 'tls-100x20x32', 'tls-10x16384', 'tls-200x16384'].map((shape) => ({
    shape,
    ...CPU,
    candidate: 'reactor_tls',
    against: 'uws',
    limit: 1,
  })),
  { shape: 'tls-10x1024', ...CPU, candidate: 'reactor_tls_auto', against: 'uws', limit: 1 },
  ...['tls-rate', 'tls-rate-resumed', 'tls-rate-rsa', 'tls-rate-rsa-resumed'].map((shape) => ({
    shape,
    metric: 'cpu_ns_per_handshake',
    text: 'CPU per handshake',
    candidate: 'reactor_tls',
    against: 'ws',
    limit: 0.6,
  })),
  { shape: 'blocked-unpinned', metric: 'max_us', text: 'ping while blocked, slowest, us', limit: 50_000 },
  { shape: 'blocked', metric: 'max_us', text: 'ping while blocked, slowest, us', limit: 50_000 },
  // 64 MiB, 16 KiB of each connection, and 32 MiB for sockets, the reserves of
  // the allocator, and 4 MiB of pings.
  { shape: 'blocked', metric: 'rss_growth_kib', text: 'memory while blocked, KiB more', limit: (64 + 32) * 1024 + 100 * 16 },
  ...Object.keys(topicShapes)
    .filter((shape) => shape.startsWith('publish-'))
    .map((shape) => ({ shape, ...CPU, against: 'uws', limit: 0.85 })),
  { shape: 'publish-10000x100', ...PUBLISH, against: 'reactor_100', limit: 1.2 },
  { shape: 'publish-10000x4096', ...PUBLISH, against: 'reactor_100', limit: 1.2 },
  { shape: 'publish-10000x100', metric: 'p99_us', text: 'delivery, p99', against: 'uws', limit: 0.5 },
  { shape: 'rooms', ...CPU, against: 'uws', limit: 0.85 },
  { shape: 'stalled', metric: 'p99_us', text: 'delivery, p99', candidate: 'reactor_drop', against: 'reactor_drop_live', limit: 1.1 },
  { shape: 'stalled-16384', metric: 'rss_growth_kib', text: 'memory, KiB more', candidate: 'reactor_drop', limit: 1024 },
  {
    shape: 'stalled-16384',
    metric: 'rss_growth_kib',
    text: 'memory, KiB more than with nobody stalled',
    candidate: 'reactor_drop',
    against: 'reactor_drop_live',
    difference: true,
    limit: 1024,
  },
  { shape: 'jitter', metric: 'delivered_percent', text: '% delivered', candidate: 'reactor_history', limit: 100, least: true },
  { shape: 'jitter', metric: 'recovery_p99_us', text: 'recovery, p99, us', candidate: 'reactor_history', limit: 50_000 },
  ...['avalanche-5000', 'avalanche-10000'].flatMap((shape) => [
    { shape, metric: 'back_95_ms', text: 'time until 95 % are back', against: 'ws', limit: 0.25 },
    { shape, metric: 'back_100_ms', text: 'time until all are back', against: 'ws', limit: 0.25 },
  ]),
  { shape: '100x20', ...IDLE },
  { shape: 'idle-10000', ...IDLE },
  { shape: 'idle-10000', metric: 'rss_per_connection_bytes', text: 'memory per idle connection', against: 'ws', limit: 1 / 8 },
  { shape: 'idle-10000', metric: 'rss_per_connection_bytes', text: 'memory per idle connection, B', limit: 1024 },
];

/**
 * @typedef {object} MicroTarget
 * @property {string} name Benchmark of benchmark/engine.rs
 * @property {'gib_per_s' | 'ns_per_frame'} metric
 * @property {string} text
 * @property {number} limit
 * @property {boolean} [least]
 */

/** @type {MicroTarget[]} */
export const microTargets = [
  { name: 'unmask/aligned/16384', metric: 'gib_per_s', text: 'unmasking 16 KiB, GiB/s', limit: 40, least: true },
  { name: 'decode/masked/7 bits', metric: 'ns_per_frame', text: 'decoding a masked header, ns', limit: 10 },
];

// The readable form of a record: a table for each shape, and the results of the targets.
import { candidateText } from './candidates.mjs';
import { shapes as messageShapes } from './shapes.mjs';
import { differences, ratios, summarize } from './stats.mjs';
import { FLOOR, baselines, microTargets, targets } from './targets.mjs';
import { topicShapes } from './topic-shapes.mjs';

/** @typedef {import('./record.mjs').BenchmarkRecord} BenchmarkRecord */

const shapes = { ...messageShapes, ...topicShapes };

/** A spread (max - min) / median above this marks a figure as unsteady. */
const UNSTEADY = 0.3;
/**
 * Above this share of a CPU the load generator is the bottleneck:
 * throughput and latency are then its own.
 */
const LOAD_BOUND = 0.97;

const CPU = /** @type {const} */ ([
  ['cpu_ns_per_msg', 'CPU ns/msg', 1],
  ['js_cpu_ns_per_msg', 'main thread', 1],
]);
const RATE = /** @type {const} */ ([['msgs_per_s', '1000 msg/s', 1e-3]]);
const P50 = /** @type {const} */ (['p50_us', 'p50 us', 1]);
const P999 = /** @type {const} */ (['p999_us', 'p99.9 us', 1]);

/**
 * Columns by view: metric, heading, factor. Ratios are those of the first metric.
 *
 * @type {Record<import('./shapes.mjs').View, readonly (readonly [metric: string, heading: string, factor: number])[]>}
 */
const COLUMNS = {
  cost: [...CPU, ...RATE, P50, P999],
  throughput: [...RATE, ...CPU, P50, P999],
  oneWay: [...CPU, ...RATE],
  distribution: [
    ['mean_us', 'mean us', 1],
    P50,
    ['p90_us', 'p90', 1],
    ['p99_us', 'p99', 1],
    P999,
    ['p9999_us', 'p99.99', 1],
    ...RATE,
    ...CPU,
  ],
  idle: [
    ['rss_per_connection_bytes', 'B/connection', 1],
    ['cpu_ns_per_connection', 'CPU ns to open', 1],
    ['idle_cpu_us_per_s', 'idle CPU us/s', 1],
  ],
  blocked: [
    P50,
    ['p99_us', 'p99', 1],
    ['max_us', 'max', 1],
    ['rss_growth_kib', 'KiB more', 1],
    ['pongs', 'pongs', 1],
  ],
  topics: [
    ['cpu_ns_per_msg', 'CPU ns/delivery', 1],
    ['js_cpu_ns_per_publish', 'main thread, us/publish', 1e-3],
    ['p50_us', 'p50 ms', 1e-3],
    ['p99_us', 'p99 ms', 1e-3],
    RATE[0],
    ['rss_growth_kib', 'KiB more', 1],
  ],
  jitter: [
    ['delivered_percent', '% delivered', 1],
    ['recovery_p50_us', 'recovery p50 ms', 1e-3],
    ['recovery_p99_us', 'p99 ms', 1e-3],
    ['cpu_ns_per_msg', 'CPU ns/delivery', 1],
  ],
  avalanche: [
    ['back_100_ms', '100 % back, ms', 1],
    ['back_95_ms', '95 % back, ms', 1],
    ['cpu_ns_per_handshake', 'CPU ns/handshake', 1],
    ['js_cpu_ns_per_handshake', 'main thread', 1],
  ],
  rate: [
    ['cpu_ns_per_handshake', 'CPU ns/handshake', 1],
    ['js_cpu_ns_per_handshake', 'main thread', 1],
    ['handshakes_per_s', 'handshakes/s', 1],
    P50,
  ],
};

/**
 * @param {BenchmarkRecord} record
 */
export function printReport(record) {
  const { machine, options } = record;
  const pinned = options.pinned ? 'server on CPU 0, load on CPU 1' : 'not pinned';
  console.log(`${machine.cpu}, ${machine.cores} cores, Linux ${machine.kernel}, Node ${machine.node}, ${pinned}`);
  console.log(`Medians of ${options.rounds} rounds of ${options.seconds} s, [min - max]; ~ = spread above ${UNSTEADY * 100} %`);
  for (const name of Object.keys(record.results)) printShape(record, name);
  if (record.micro) printMicro(record.micro);
  console.log('\nTargets');
  printTable([['shape', 'what', 'to', 'wanted', 'of medians', 'of rounds [min - max]', 'bare loop', ''], ...targetRows(record)]);
}

/**
 * Rows of the targets for which this record has figures.
 *
 * @param {BenchmarkRecord} record
 * @returns {string[][]}
 */
export function targetRows(record) {
  const measured = targets.flatMap((target) => {
    const { shape, metric, against, limit, candidate = 'reactor' } = target;
    const text = target.text + (target.candidate ? `, ${candidateText(candidate)}` : '');
    const runs = record.results[shape]?.[candidate];
    const wanted = `${target.least ? '>=' : '<='} ${digits(limit)}`;
    if (against === undefined) {
      const figure = summarize(runs, metric);
      if (!figure) return [];
      const spread = figure.runs > 1 ? `[${digits(figure.min)} - ${digits(figure.max)}]` : '';
      return [[shape, text, '', wanted, digits(figure.median), spread, '', verdict(target, figure.median)]];
    }
    const compare = target.difference ? differences : ratios;
    const figure = compare(runs, record.results[shape]?.[against], metric);
    if (!figure) return [];
    const rounds = `${digits(figure.ofRounds)} [${digits(figure.min)} - ${digits(figure.max)}]`;
    // Both ways of comparing must agree that the target is met.
    const met = verdict(target, figure.ofMedians, figure.ofRounds);
    return [[shape, text, against, wanted, digits(figure.ofMedians), rounds, floorOf(record, target), met]];
  });
  const micros = microTargets.flatMap((target) => {
    const figure = record.micro?.[target.name]?.[target.metric];
    if (figure === undefined) return [];
    const wanted = `${target.least ? '>=' : '<='} ${digits(target.limit)}`;
    return [[target.name, target.text, '', wanted, digits(figure), '', '', verdict(target, figure)]];
  });
  return [...measured, ...micros];
}

/**
 * The figures of a bare loop: no server that makes the same system calls is ahead of it.
 *
 * @param {BenchmarkRecord} record
 * @param {import('./targets.mjs').Target} target
 * @returns {string}
 */
function floorOf(record, { shape, metric, against = '' }) {
  // A loop without JavaScript has no JavaScript thread.
  if (metric.startsWith('js_')) return '';
  const byCandidate = record.results[shape];
  const ratio = ratios(byCandidate?.[FLOOR], byCandidate?.[against], metric);
  return ratio ? digits(ratio.ofRounds) : '';
}

/**
 * @param {Record<string, import('./micro.mjs').Micro>} micro
 */
function printMicro(micro) {
  console.log('\nthe engine by itself');
  printTable([['', 'ns', 'GiB/s', 'ns/frame'], ...microRows(micro)]);
}

/**
 * @param {Record<string, import('./micro.mjs').Micro>} micro
 * @returns {string[][]}
 */
export function microRows(micro) {
  const cell = (/** @type {number | undefined} */ value) => (value === undefined ? '-' : digits(value));
  return Object.entries(micro).map(([name, figures]) => [
    name,
    `${digits(figures.ns)} [${figures.interval.map(digits).join(' - ')}]`,
    cell(figures.gib_per_s),
    cell(figures.ns_per_frame),
  ]);
}

/**
 * @param {BenchmarkRecord} record
 * @param {string} name
 */
function printShape(record, name) {
  const byCandidate = record.results[name];
  const columns = columnsOf(viewOf(name));
  const bases = baselines.filter((base) => byCandidate[base]);
  console.log(`\n${name}: ${shapeText(name)}`);
  const rows = [['', ...columns.map(([, heading]) => heading), ...bases.map((base) => `to ${base}`), '']];
  for (const [candidate, runs] of Object.entries(byCandidate)) {
    const cells = columns.map(([metric, , factor]) => cell(runs, metric, factor));
    const toBases = bases.map((base) => {
      const ratio = ratios(runs, byCandidate[base], columns[0][0]);
      return ratio ? `${digits(ratio.ofMedians)} / ${digits(ratio.ofRounds)}` : '-';
    });
    // A generator that polls is always busy.
    const busy = !shapes[name]?.load.spin && (summarize(runs, 'load_cpu_share')?.median ?? 0) > LOAD_BOUND;
    rows.push([candidateText(candidate), ...cells, ...toBases, busy ? 'load-bound' : '']);
  }
  printTable(rows);
}

/**
 * @param {import('./stats.mjs').Run[]} runs
 * @param {string} metric
 * @param {number} factor
 */
function cell(runs, metric, factor) {
  const figure = summarize(runs, metric);
  if (!figure) return '-';
  const [median, min, max] = [figure.median, figure.min, figure.max].map((value) => digits(value * factor));
  const unsteady = figure.max - figure.min > UNSTEADY * figure.median ? '~' : '';
  return figure.runs > 1 ? `${unsteady}${median} [${min} - ${max}]` : median;
}

/**
 * @param {string} shape Name of a shape in a record, which may be older than the list of shapes
 * @returns {import('./shapes.mjs').View}
 */
export function viewOf(shape) {
  return shapes[shape]?.view ?? 'cost';
}

/**
 * @param {import('./shapes.mjs').View} view
 * @returns {readonly (readonly [metric: string, heading: string, factor: number])[]}
 */
export function columnsOf(view) {
  return COLUMNS[view];
}

/**
 * @param {string} shape
 */
export function shapeText(shape) {
  return shapes[shape]?.text ?? shape;
}

/**
 * Three significant digits, no exponent.
 *
 * @param {number} value
 */
export function digits(value) {
  if (value === 0) return '0';
  const places = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toLocaleString('en', { maximumFractionDigits: Math.min(places, 4) });
}

/**
 * @param {{ limit: number, least?: boolean }} target
 * @param {...number} figures The figures, all of which must reach the target
 */
function verdict({ limit, least }, ...figures) {
  const met = figures.every((figure) => (least ? figure >= limit : figure <= limit));
  return met ? 'met' : 'MISSED';
}

/**
 * @param {string[][]} rows
 */
function printTable(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  for (const row of rows) {
    const cells = row.map((text, column) => (column === 0 ? text.padEnd(widths[0]) : text.padStart(widths[column])));
    console.log(`  ${cells.join('  ')}`.trimEnd());
  }
}

// The readable form of a record: a table per shape, and what became of the targets.
import { baselines, candidates, shapes, targets } from './shapes.mjs';
import { ratios, summarize } from './stats.mjs';

/** @typedef {import('./record.mjs').BenchmarkRecord} BenchmarkRecord */

/** A spread (max - min) / median above this marks a figure as unsteady. */
const UNSTEADY = 0.3;
/** Above this share of a CPU the load generator is the bottleneck: throughput and latency are then its own. */
const LOAD_BOUND = 0.97;

/** Columns by mode: metric, heading, factor. */
const COLUMNS = {
  echo: [
    ['cpu_ns_per_msg', 'CPU ns/msg', 1],
    ['js_cpu_ns_per_msg', 'main thread', 1],
    ['msgs_per_s', '1000 msg/s', 1e-3],
    ['p50_us', 'p50 us', 1],
    ['p999_us', 'p99.9 us', 1],
  ],
  ingest: [
    ['cpu_ns_per_msg', 'CPU ns/msg', 1],
    ['js_cpu_ns_per_msg', 'main thread', 1],
    ['msgs_per_s', '1000 msg/s', 1e-3],
  ],
  idle: [
    ['rss_per_connection_bytes', 'B/connection', 1],
    ['cpu_ns_per_connection', 'CPU ns to open', 1],
    ['idle_cpu_us_per_s', 'idle CPU us/s', 1],
  ],
  rate: [
    ['cpu_ns_per_handshake', 'CPU ns/handshake', 1],
    ['js_cpu_ns_per_handshake', 'main thread', 1],
    ['handshakes_per_s', 'handshakes/s', 1],
    ['p50_us', 'p50 us', 1],
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
  console.log('\nTargets');
  printTable([['shape', 'what', 'to', 'wanted', 'of medians', 'of rounds [min - max]', ''], ...targetRows(record)]);
}

/**
 * Rows of the targets that this record has figures for.
 *
 * @param {BenchmarkRecord} record
 * @returns {string[][]}
 */
export function targetRows(record) {
  return targets.flatMap(({ shape, metric, text, against, limit }) => {
    const runs = record.results[shape]?.reactor;
    if (against === undefined) {
      const figure = summarize(runs, metric);
      if (!figure) return [];
      const spread = figure.runs > 1 ? `[${digits(figure.min)} - ${digits(figure.max)}]` : '';
      return [[shape, text, '', `<= ${limit}`, digits(figure.median), spread, verdict(figure.median <= limit)]];
    }
    const ratio = ratios(runs, record.results[shape]?.[against], metric);
    if (!ratio) return [];
    const rounds = `${digits(ratio.ofRounds)} [${digits(ratio.min)} - ${digits(ratio.max)}]`;
    // Both ways of dividing must agree that the target is met.
    const met = Math.max(ratio.ofMedians, ratio.ofRounds) <= limit;
    return [[shape, text, against, `<= ${digits(limit)}`, digits(ratio.ofMedians), rounds, verdict(met)]];
  });
}

/**
 * @param {BenchmarkRecord} record
 * @param {string} name
 */
function printShape(record, name) {
  const byCandidate = record.results[name];
  const mode = modeOf(name);
  const columns = COLUMNS[mode];
  const bases = baselines.filter((base) => byCandidate[base]);
  console.log(`\n${name}: ${shapes[name].text}`);
  const rows = [['', ...columns.map(([, heading]) => `${heading}`), ...bases.map((base) => `to ${base}`), '']];
  for (const [candidate, runs] of Object.entries(byCandidate)) {
    const cells = columns.map(([metric, , factor]) => cell(runs, `${metric}`, Number(factor)));
    const toBases = bases.map((base) => {
      const ratio = ratios(runs, byCandidate[base], `${columns[0][0]}`);
      return ratio ? `${digits(ratio.ofMedians)} / ${digits(ratio.ofRounds)}` : '-';
    });
    const bound = (summarize(runs, 'load_cpu_share')?.median ?? 0) > LOAD_BOUND ? 'load-bound' : '';
    rows.push([candidateText(candidate), ...cells, ...toBases, bound]);
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
 * @param {string} shape
 * @returns {keyof typeof COLUMNS}
 */
export function modeOf(shape) {
  const mode = shapes[shape]?.load.mode;
  return mode === 'idle' || mode === 'rate' || mode === 'ingest' ? mode : 'echo';
}

/**
 * @param {string} name
 */
export function candidateText(name) {
  return candidates()[name]?.text ?? name;
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
 * @param {boolean} met
 */
function verdict(met) {
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

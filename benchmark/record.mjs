// Records of runs: the machine, the versions, the figures of every run.
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism, cpus, release, totalmem } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { benchmarkDir } from './paths.mjs';

/** @typedef {import('./stats.mjs').Run} Run */
/** @typedef {Record<string, Record<string, Run[]>>} Results Runs by shape and candidate */
/**
 * @typedef {object} BenchmarkRecord
 * @property {string} date
 * @property {{ name: string, cpu: string, cores: number, memory_gib: number, kernel: string, node: string }} machine
 * @property {{ [name: string]: string }} versions
 * @property {{ rounds: number, seconds: number, warmup: number, settle?: number, pinned: boolean, full?: boolean, topics?: boolean }} options
 * @property {Record<string, import('./micro.mjs').Micro>} [micro] Figures of benchmark/engine.rs
 * @property {Results} results
 */
/** @typedef {Pick<BenchmarkRecord, 'date' | 'machine' | 'versions' | 'options'>} Head */
/**
 * @typedef {Head & Pick<BenchmarkRecord, 'micro' | 'results'> & { headOf: Record<string, Head> }} Figures What the documents show: each shape
 *   from the newest record that has it, which `headOf` names. The rest is of the record that most
 *   shapes come from.
 */

/** The beginning of the name of a record of topics. */
export const TOPICS = 'topics-';

/** The options of the shape that the runs repeat. */
const REPEATED = new Set(['mode', 'payload', 'in_flight', 'kind', 'deflate', 'tls', 'batch', 'pace_ms', 'touch']);

/**
 * @returns {Pick<BenchmarkRecord, 'date' | 'machine' | 'versions'>}
 */
export function describeMachine() {
  const cpu = cpus()[0]?.model.trim() || process.arch;
  const cores = availableParallelism();
  const name = `${cpu}-${cores}-cores`.toLowerCase().replace(/[^a-z0-9]+/g, '-');
  const require = createRequire(import.meta.url);
  const version = (/** @type {string} */ path) => JSON.parse(readFileSync(require.resolve(path), 'utf8')).version;
  return {
    date: new Date().toISOString().slice(0, 10),
    machine: {
      name,
      cpu,
      cores,
      memory_gib: Math.round(totalmem() / 2 ** 30),
      kernel: release(),
      node: process.version,
    },
    versions: {
      'reactor-ws': version('../package.json'),
      ws: version('ws/package.json'),
      bufferutil: version('bufferutil/package.json'),
    },
  };
}

/**
 * Writes a record. One run is one line, so that records can be compared.
 *
 * @param {BenchmarkRecord} record
 * @param {'whole' | 'part' | 'cache'} kind A part, of chosen shapes or candidates, gets a name
 *   that no other has. A whole record replaces that of the same day, unless it is the less complete
 *   one. The cache is where version control does not see it
 * @returns {string} The file
 */
export function writeRecord(record, kind) {
  const name = `${record.options.topics ? TOPICS : ''}${record.date}`;
  const folder = join(benchmarkDir, 'record', record.machine.name);
  const whole = join(folder, `${name}.json`);
  const isLess = kind === 'whole' && !record.options.full && isFull(whole);
  const file = kind === 'cache' || isLess ? join(benchmarkDir, '.cache', `${name}.json`) : kind === 'part' ? freeName(folder, name) : whole;
  mkdirSync(dirname(file), { recursive: true });
  const { results, micro = {}, ...head } = record;
  const shapes = Object.entries(results).map(([shape, byCandidate]) => {
    const candidates = Object.entries(byCandidate).map(([candidate, runs]) => {
      const lines = runs.map((run) => `        ${JSON.stringify(withoutShape(run))}`);
      return `      ${JSON.stringify(candidate)}: [\n${lines.join(',\n')}\n      ]`;
    });
    return `    ${JSON.stringify(shape)}: {\n${candidates.join(',\n')}\n    }`;
  });
  const micros = Object.entries(micro).map(([name, figures]) => `    ${JSON.stringify(name)}: ${JSON.stringify(figures)}`);
  const start = JSON.stringify(head, null, 2).slice(0, -2);
  const lists = [`"micro": {\n${micros.join(',\n')}\n  }`, `"results": {\n${shapes.join(',\n')}\n  }`];
  writeFileSync(file, `${start},\n  ${lists.join(',\n  ')}\n}\n`);
  return file;
}

/**
 * @param {string[]} files Records of one kind and machine
 * @returns {Figures | undefined} Nothing without a record
 */
function merge(files) {
  /** @type {BenchmarkRecord[]} */
  const records = files.sort(inOrder).map((file) => JSON.parse(readFileSync(file, 'utf8')));
  if (records.length === 0) return undefined;
  /** @type {Results} */
  const results = Object.assign({}, ...records.map((record) => record.results));
  const newest = (/** @type {string} */ shape) => records.findLast((record) => shape in record.results) ?? records[0];
  const headOf = Object.fromEntries(Object.keys(results).map((shape) => [shape, newest(shape)]));
  const share = (/** @type {Head} */ head) => Object.values(headOf).filter((other) => other === head).length;
  const main = records.reduce((most, record) => (share(record) > share(most) ? record : most));
  const micro = records.findLast((record) => Object.keys(record.micro ?? {}).length > 0)?.micro;
  return { ...main, micro, results, headOf };
}

/**
 * The figures of the machine that was measured last.
 *
 * @param {string} [kind] Beginning of the names of the records
 * @returns {Figures | undefined} Nothing without a record
 */
export function newestFigures(kind = '') {
  const directory = join(benchmarkDir, 'record');
  const isOfKind = new RegExp(`^${kind}[0-9-]+\\.json$`);
  const files = readdirSync(directory, { recursive: true }).map((name) => join(directory, String(name)));
  const all = files.filter((file) => isOfKind.test(basename(file))).sort(inOrder);
  return merge(all.filter((file) => dirname(file) === dirname(all[all.length - 1])));
}

/**
 * @param {string} file
 * @returns {Figures} Of one record
 */
export function figuresOf(file) {
  return /** @type {Figures} */ (merge([file]));
}

/**
 * By date; parts behind the whole of their day.
 *
 * @param {string} one
 * @param {string} other
 */
function inOrder(one, other) {
  const [a, b] = [one, other].map((file) => basename(file, '.json'));
  return a.localeCompare(b, 'en', { numeric: true });
}

/**
 * @param {string} folder
 * @param {string} name
 */
function freeName(folder, name) {
  let number = 1;
  while (existsSync(join(folder, `${name}-${number}.json`))) number++;
  return join(folder, `${name}-${number}.json`);
}

/**
 * The days on which these shapes were measured.
 *
 * @param {Figures} figures
 * @param {string[]} shapes
 */
export function datesOf({ date, headOf }, shapes) {
  const dates = shapes.filter((shape) => shape in headOf).map((shape) => headOf[shape].date);
  return [...new Set(dates.length > 0 ? dates : [date])].sort().join(', ');
}

/**
 * @param {string} file
 */
function isFull(file) {
  return existsSync(file) && JSON.parse(readFileSync(file, 'utf8')).options.full === true;
}

/**
 * @param {Run} run
 */
function withoutShape(run) {
  return Object.fromEntries(Object.entries(run).filter(([key]) => !REPEATED.has(key)));
}

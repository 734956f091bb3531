// Records of runs: the machine, the versions, the figures of every run.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism, cpus, release, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
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
 * Writes a record, a partial one where version control does not see it; a record that is not full is partial, too, when that day has a full
 * one. One run is one line, so that records can be compared.
 *
 * @param {BenchmarkRecord} record
 * @param {boolean} partial
 * @returns {string} The file
 */
export function writeRecord(record, partial) {
  const name = `${record.options.topics ? TOPICS : ''}${record.date}.json`;
  const recorded = join(benchmarkDir, 'record', record.machine.name, name);
  const keep = partial || (!record.options.full && isFull(recorded));
  const file = keep ? join(benchmarkDir, '.cache', name) : recorded;
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

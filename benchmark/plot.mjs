// Draws benchmark/plots/*.svg from a record and rewrites the tables of README.md and benchmark/README.md.
//
// usage: node benchmark/plot.mjs [record.json]     default: the newest complete record
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { barChart } from './chart.mjs';
import { candidateText, digits, modeOf, targetRows } from './report.mjs';
import { benchmarkDir, rootDir, shapes } from './shapes.mjs';
import { ratios, summarize } from './stats.mjs';

/** @typedef {import('./record.mjs').BenchmarkRecord} BenchmarkRecord */

const BEGIN = '<!-- bench:begin -->';
const END = '<!-- bench:end -->';

const CHARTS = [
  { file: 'cpu', metric: 'cpu_ns_per_msg', title: 'CPU time per message, all threads', unit: 'ns' },
  { file: 'js-cpu', metric: 'js_cpu_ns_per_msg', title: 'CPU time per message, JavaScript thread', unit: 'ns', js: true },
  { file: 'latency', metric: 'p50_us', title: 'Round trip of a single message, median', unit: 'us', latency: true },
];

/** Servers without JavaScript: they have no JavaScript thread to compare. */
const WITHOUT_JS = new Set(['reactor_echo', 'mio_echo']);

const file = process.argv[2] ?? newestRecord();
/** @type {BenchmarkRecord} */
const record = JSON.parse(readFileSync(file, 'utf8'));
mkdirSync(join(benchmarkDir, 'plots'), { recursive: true });
for (const chart of CHARTS) {
  const path = join(benchmarkDir, 'plots', `${chart.file}.svg`);
  writeFileSync(path, draw(chart));
  console.log(relative(rootDir, path));
}
for (const readme of [join(rootDir, 'README.md'), join(benchmarkDir, 'README.md')]) rewriteTable(readme);

function newestRecord() {
  const directory = join(benchmarkDir, 'record');
  const files = readdirSync(directory, { recursive: true }).map(String).filter((name) => name.endsWith('.json'));
  const date = (/** @type {string} */ name) => name.slice(-'2000-01-01.json'.length);
  const newest = files.sort((a, b) => date(a).localeCompare(date(b))).at(-1);
  if (newest === undefined) throw new Error('No record yet: npm run bench');
  return join(directory, newest);
}

/**
 * @param {typeof CHARTS[number]} chart
 */
function draw({ metric, title, unit, js, latency }) {
  const groups = Object.entries(record.results)
    .filter(([name]) => modeOf(name) === 'echo' && (!latency || shapes[name].load.mode === 'latency'))
    .map(([name, byCandidate]) => ({
      name: shapes[name].text,
      bars: Object.entries(byCandidate)
        .filter(([candidate]) => !js || !WITHOUT_JS.has(candidate))
        .flatMap(([candidate, runs]) => {
          const figure = summarize(runs, metric);
          if (!figure) return [];
          const { median: value, min, max } = figure;
          return [{ name: candidateText(candidate), value, min, max, label: `${digits(value)} ${unit}` }];
        }),
    }))
    .filter(({ bars }) => bars.length > 0);
  return barChart({ title, subtitle: `${record.machine.cpu}, ${record.date}; each group has its own scale`, groups });
}

/**
 * @param {string} readme
 */
function rewriteTable(readme) {
  const text = readFileSync(readme, 'utf8');
  const begin = text.indexOf(BEGIN);
  const end = text.indexOf(END);
  if (begin < 0 || end < begin) return;
  writeFileSync(readme, `${text.slice(0, begin + BEGIN.length)}\n${tables(relative(dirname(readme), join(benchmarkDir, 'plots')))}\n${text.slice(end)}`);
  console.log(relative(rootDir, readme));
}

/**
 * @param {string} plots Where the charts are, seen from the document
 */
function tables(plots) {
  const { machine, options, versions } = record;
  const system = `${machine.cpu}, ${machine.cores} cores, Linux ${machine.kernel}, Node ${machine.node}, ws ${versions.ws}`;
  const measured = `Measured ${record.date}: ${system}; medians of ${options.rounds} rounds.`;
  const candidates = [...new Set(Object.values(record.results).flatMap((byCandidate) => Object.keys(byCandidate)))];
  const lines = [
    `| CPU ns per message: all threads (main thread) | ${candidates.map(candidateText).join(' | ')} |`,
    `|---|${candidates.map(() => '---:|').join('')}`,
    ...Object.entries(record.results)
      .filter(([name]) => modeOf(name) === 'echo')
      .map(([name, byCandidate]) => {
        const cells = candidates.map((candidate) => cpuCell(byCandidate, candidate));
        return `| ${shapes[name].text} | ${cells.join(' | ')} |`;
      }),
  ];
  const targets = targetRows(record).map((row) => `| ${row.join(' | ')} |`);
  if (targets.length > 0) {
    lines.push('', '| shape | figure | relative to | target | of medians | of rounds | |', '|---|---|---|---|---|---|---|', ...targets);
  }
  const charts = CHARTS.map(({ file: name, title }) => `![${title}](${plots}/${name}.svg)`);
  return ['', measured, '', ...lines, '', ...charts, ''].join('\n');
}

/**
 * @param {BenchmarkRecord['results'][string]} byCandidate
 * @param {string} candidate
 */
function cpuCell(byCandidate, candidate) {
  const all = summarize(byCandidate[candidate], 'cpu_ns_per_msg');
  const main = summarize(byCandidate[candidate], 'js_cpu_ns_per_msg');
  if (!all || !main) return '-';
  const ratio = candidate === 'ws' ? undefined : ratios(byCandidate[candidate], byCandidate.ws, 'cpu_ns_per_msg');
  const times = ratio ? `, x ${digits(ratio.ofRounds)}` : '';
  return `${digits(all.median)} (${WITHOUT_JS.has(candidate) ? '-' : digits(main.median)})${times}`;
}

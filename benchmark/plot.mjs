// Draws benchmark/plots/*.svg from a record, and rewrites what README.md, docs/performance.md and benchmark/README.md say of it.
//
// usage: node benchmark/plot.mjs [record.json]     default: the newest complete record
//        node benchmark/plot.mjs --check           writes nothing, and names what is not of that record
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { candidateText, candidates } from './candidates.mjs';
import { barChart } from './chart.mjs';
import { THEMES, overview, overviewText } from './overview.mjs';
import { benchmarkDir, rootDir } from './paths.mjs';
import { digits, shapeText, viewOf } from './report.mjs';
import { defaultShapes } from './shapes.mjs';
import { summarize } from './stats.mjs';
import { tables } from './tables.mjs';

/** @typedef {import('./record.mjs').BenchmarkRecord} BenchmarkRecord */

const BEGIN = '<!-- bench:begin -->';
const END = '<!-- bench:end -->';

/** Who is drawn: the others are in the tables. */
const DRAWN = ['ws', 'reactor', 'reactor_inline', 'uws', 'reactor_echo', 'uws_cpp'];
const MAIN = defaultShapes(false);

/**
 * @typedef {object} Chart
 * @property {string} file
 * @property {string} metric
 * @property {string} title
 * @property {string} unit
 * @property {(shape: string) => boolean} takes Which shapes are groups of it
 * @property {number} [scale] What a figure is multiplied by
 * @property {boolean} [js] Whether it is about the JavaScript thread
 */

/** @type {Chart[]} */
const CHARTS = [
  {
    file: 'cpu',
    metric: 'cpu_ns_per_msg',
    title: 'CPU time per message, all threads',
    unit: 'ns',
    takes: (shape) => shape in MAIN && ['cost', 'oneWay'].includes(viewOf(shape)),
  },
  {
    file: 'js-cpu',
    metric: 'js_cpu_ns_per_msg',
    title: 'CPU time per message, JavaScript thread',
    unit: 'ns',
    takes: (shape) => shape in MAIN && ['cost', 'oneWay'].includes(viewOf(shape)),
    js: true,
  },
  {
    file: 'latency',
    metric: 'p50_us',
    title: 'Round trip of a single message, median',
    unit: 'us',
    takes: (shape) => shape === '1x20' || shape === '1x20-unpinned',
  },
  {
    file: 'tail',
    metric: 'p999_us',
    title: 'Round trip with a request every millisecond, 99.9 %',
    unit: 'us',
    takes: (shape) => viewOf(shape) === 'distribution',
  },
  {
    file: 'throughput',
    metric: 'msgs_per_s',
    title: 'Echoes per second on all CPUs',
    unit: 'k/s',
    scale: 1e-3,
    takes: (shape) => viewOf(shape) === 'throughput',
  },
  {
    file: 'memory',
    metric: 'rss_per_connection_bytes',
    title: 'Memory per idle connection',
    unit: 'B',
    takes: (shape) => viewOf(shape) === 'idle',
  },
];

const isCheck = process.argv[2] === '--check';
const file = isCheck ? newestRecord() : (process.argv[2] ?? newestRecord());
/** @type {BenchmarkRecord} */
const record = JSON.parse(readFileSync(file, 'utf8'));
const plots = join(benchmarkDir, 'plots');
mkdirSync(plots, { recursive: true });
const drawn = CHARTS.filter((chart) => {
  const path = join(plots, `${chart.file}.svg`);
  const groups = groupsOf(chart);
  if (!isCheck) rmSync(path, { force: true });
  if (groups.length === 0) return false;
  const subtitle = `${record.machine.cpu}, ${record.date}; each group has its own scale`;
  put(path, barChart({ title: chart.title, subtitle, groups }));
  return true;
});
for (const [name, theme] of Object.entries(THEMES)) put(join(plots, `overview-${name}.svg`), overview(record, theme));
rewrite(join(rootDir, 'README.md'), () => picture());
rewrite(join(rootDir, 'docs', 'performance.md'), (where) => [...tables(record, false), '', ...images(where).slice(0, 3)]);
rewrite(join(benchmarkDir, 'README.md'), (where) => [...tables(record, true), '', ...images(where)]);

/**
 * Writes a file, or says that it is not what would be written.
 *
 * @param {string} path
 * @param {string} content
 */
function put(path, content) {
  const name = relative(rootDir, path);
  if (!isCheck) {
    writeFileSync(path, content);
    console.log(name);
  } else if (!existsSync(path) || readFileSync(path, 'utf8') !== content) {
    console.error(`${name}: not of the newest record; run npm run bench:plot`);
    process.exitCode = 1;
  }
}

function newestRecord() {
  const directory = join(benchmarkDir, 'record');
  const files = readdirSync(directory, { recursive: true }).map(String).filter((name) => name.endsWith('.json'));
  const date = (/** @type {string} */ name) => name.slice(-'2000-01-01.json'.length);
  const newest = files.sort((a, b) => date(a).localeCompare(date(b))).at(-1);
  if (newest === undefined) throw new Error('No record yet: npm run bench');
  return join(directory, newest);
}

/**
 * @param {Chart} chart
 */
function groupsOf({ metric, unit, takes, scale = 1, js }) {
  const all = candidates();
  return Object.entries(record.results)
    .filter(([shape]) => takes(shape))
    .map(([shape, byCandidate]) => ({
      name: shapeText(shape),
      bars: Object.entries(byCandidate)
        .filter(([candidate]) => DRAWN.includes(candidate) && !(js && all[candidate]?.withoutJs))
        .flatMap(([candidate, runs]) => {
          const figure = summarize(runs, metric);
          if (!figure) return [];
          const [value, min, max] = [figure.median, figure.min, figure.max].map((each) => each * scale);
          return [{ name: candidateText(candidate), value, min, max, label: `${digits(value)} ${unit}` }];
        }),
    }))
    .filter(({ bars }) => bars.length > 0);
}

/** The picture of README.md, as GitHub and npm show it. */
function picture() {
  const where = relative(rootDir, plots);
  return [
    '<picture>',
    `  <source media="(prefers-color-scheme: dark)" srcset="${where}/overview-dark.svg">`,
    `  <img alt="CPU time and throughput beside ws and uWebSockets.js" src="${where}/overview-light.svg">`,
    '</picture>',
    '',
    overviewText(record),
  ];
}

/**
 * @param {string} where The folder of the charts, as the document sees it
 */
function images(where) {
  return drawn.map(({ file: name, title }) => `![${title}](${where}/${name}.svg)`);
}

/**
 * @param {string} document
 * @param {(where: string) => string[]} lines What stands between the marks
 */
function rewrite(document, lines) {
  const text = readFileSync(document, 'utf8');
  const begin = text.indexOf(BEGIN);
  const end = text.indexOf(END);
  if (begin < 0 || end < begin) return;
  const content = ['', ...lines(relative(dirname(document), plots)), ''];
  put(document, `${text.slice(0, begin + BEGIN.length)}\n${content.join('\n')}\n${text.slice(end)}`);
}

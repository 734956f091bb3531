// Draws benchmark/plots/*.svg from a record, and rewrites its tables in README.md,
// docs/performance.md and benchmark/README.md.
//
// usage: node benchmark/plot.mjs [record.json] default: each shape
// from the newest record that has it
//        node benchmark/plot.mjs --check           writes nothing, and names what differs
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { candidateText, candidates } from './candidates.mjs';
import { barChart } from './chart.mjs';
import { THEMES, arena, arenaText, overview, overviewText } from './overview.mjs';
import { benchmarkDir, rootDir } from './paths.mjs';
import { newestOther } from './others/record.mjs';
import { TOPICS, datesOf, figuresOf, newestFigures } from './record.mjs';
import { digits, shapeText, viewOf } from './report.mjs';
import { defaultShapes } from './shapes.mjs';
import { summarize } from './stats.mjs';
import { tables } from './tables.mjs';

/** @typedef {import('./record.mjs').Figures} Figures */

/**
 * The text between these marks comes from the newest record; with `topics`,
 * from the newest record of topics.
 */
const marks = (/** @type {string} */ name) => [`<!-- ${name}:begin -->`, `<!-- ${name}:end -->`];

/** The candidates that are drawn: the others are in the tables. */
const DRAWN = [
  ...['ws', 'reactor', 'reactor_inline', 'uws', 'reactor_echo', 'uws_cpp'],
  ...['socketio', 'reactor_drop', 'uws_drop'],
];
const MAIN = defaultShapes(false);

/**
 * @typedef {object} Chart
 * @property {string} file
 * @property {string} metric
 * @property {string} title
 * @property {string} unit
 * @property {(shape: string) => boolean} takes The shapes that are its groups
 * @property {number} [scale] Factor of a figure
 * @property {boolean} [js] Whether it concerns the JavaScript thread
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

/** @type {Chart[]} */
const TOPIC_CHARTS = [
  {
    file: 'topics-cpu',
    metric: 'cpu_ns_per_msg',
    title: 'CPU time per delivery, all threads',
    unit: 'ns',
    takes: (shape) => viewOf(shape) === 'topics',
  },
  {
    file: 'topics-latency',
    metric: 'p99_us',
    title: 'From publish to delivery, 99 %',
    unit: 'ms',
    scale: 1e-3,
    takes: (shape) => viewOf(shape) === 'topics',
  },
  {
    file: 'topics-avalanche',
    metric: 'back_100_ms',
    title: 'A new server, until all clients are back',
    unit: 'ms',
    takes: (shape) => viewOf(shape) === 'avalanche',
  },
];

const isCheck = process.argv[2] === '--check';
const file = isCheck ? undefined : process.argv[2];
const record = file ? figuresOf(file) : newestFigures();
if (!record) throw new Error('No record yet: npm run bench');
const plots = join(benchmarkDir, 'plots');
mkdirSync(plots, { recursive: true });
const drawn = draw(CHARTS, record);
const others = newestOther('http-arena');
for (const [name, theme] of Object.entries(THEMES)) {
  put(join(plots, `overview-${name}.svg`), overview(record, theme));
  put(join(plots, `http-arena-${name}.svg`), arena(others, theme));
}
rewrite(join(rootDir, 'README.md'), 'bench', (where) => picture('http-arena', 'Messages per second in HttpArena beside ws, Bun and uWebSockets.js', where, arenaText(others)));
rewrite(join(rootDir, 'docs', 'performance.md'), 'bench', (where) => [
  ...picture('overview', 'CPU time and throughput beside ws and uWebSockets.js', where, overviewText(record)),
  '',
  ...tables(record, false),
  '',
  ...images(drawn, where).slice(0, 3),
]);
rewrite(join(benchmarkDir, 'README.md'), 'bench', (where) => [...tables(record, true), '', ...images(drawn, where)]);

const topics = newestFigures(TOPICS);
if (topics) {
  const charts = draw(TOPIC_CHARTS, topics);
  rewrite(join(benchmarkDir, 'README.md'), 'topics', (where) => [...tables(topics, true), '', ...images(charts, where)]);
}

/**
 * @param {Chart[]} charts
 * @param {Figures} from
 * @returns {Chart[]} The charts that the record has figures for
 */
function draw(charts, from) {
  return charts.filter((chart) => {
    const path = join(plots, `${chart.file}.svg`);
    const groups = groupsOf(chart, from);
    if (!isCheck) rmSync(path, { force: true });
    if (groups.length === 0) return false;
    const shown = Object.keys(from.results).filter(chart.takes);
    const subtitle = `${from.machine.cpu}, ${datesOf(from, shown)}; each group has its own scale`;
    put(path, barChart({ title: chart.title, subtitle, groups }));
    return true;
  });
}

/**
 * Writes a file, or reports that it differs.
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

/**
 * @param {Chart} chart
 * @param {Figures} from
 */
function groupsOf({ metric, unit, takes, scale = 1, js }, from) {
  const all = candidates();
  return Object.entries(from.results)
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

/**
 * A picture with the theme of the page, as GitHub and npm show it.
 *
 * @param {string} name
 * @param {string} alt
 * @param {string} where The folder of the pictures, as the document sees it
 * @param {string} sentence
 */
function picture(name, alt, where, sentence) {
  return [
    '<picture>',
    `  <source media="(prefers-color-scheme: dark)" srcset="${where}/${name}-dark.svg">`,
    `  <img alt="${alt}" src="${where}/${name}-light.svg">`,
    '</picture>',
    '',
    sentence,
  ];
}

/**
 * @param {Chart[]} charts
 * @param {string} where The folder of the charts, as the document sees it
 */
function images(charts, where) {
  return charts.map(({ file: name, title }) => `![${title}](${where}/${name}.svg)`);
}

/**
 * @param {string} document
 * @param {string} name Name of the marks
 * @param {(where: string) => string[]} lines The text between the marks
 */
function rewrite(document, name, lines) {
  const text = readFileSync(document, 'utf8');
  const [first, last] = marks(name);
  const begin = text.indexOf(first);
  const end = text.indexOf(last);
  if (begin < 0 || end < begin) return;
  const content = ['', ...lines(relative(dirname(document), plots)), ''];
  put(document, `${text.slice(0, begin + first.length)}\n${content.join('\n')}\n${text.slice(end)}`);
}

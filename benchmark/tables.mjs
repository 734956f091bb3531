// A record as the tables of the documents.
import { candidateText, candidates } from './candidates.mjs';
import { columnsOf, digits, microRows, shapeText, targetRows, viewOf } from './report.mjs';
import { defaultShapes } from './shapes.mjs';
import { ratios, summarize } from './stats.mjs';

/** @typedef {import('./record.mjs').BenchmarkRecord} BenchmarkRecord */
/** @typedef {import('./shapes.mjs').View} View */

/** What the first two columns of a view are, and how often a figure is divided. */
const HEADINGS = {
  cost: 'CPU ns per message: all threads (main thread), x of ws',
  oneWay: 'CPU ns per message, one way: all threads (main thread), x of ws',
  throughput: '1000 echoes per second on all CPUs (CPU ns per echo), x of ws',
  distribution: 'round trip, us: mean (p50, p90, p99, p99.9, p99.99)',
  blocked: 'ping while the event loop is blocked, us: median (p99, max; KiB of memory more)',
  rate: 'CPU ns per handshake: all threads (main thread), x of ws',
  idle: 'bytes of memory per idle connection (CPU us per s of the idle server), x of ws',
};

/**
 * @param {BenchmarkRecord} record
 * @param {boolean} everything Also shapes that only --full measures, targets, and the engine by itself
 * @returns {string[]} Lines of Markdown
 */
export function tables(record, everything) {
  const { machine, options, versions } = record;
  const system = `${machine.cpu}, ${machine.cores} cores, Linux ${machine.kernel}, Node ${machine.node}, ws ${versions.ws}`;
  const lines = [`Measured ${record.date}: ${system}; medians of ${options.rounds} rounds.`];
  const main = defaultShapes(false);
  const chosen = Object.keys(record.results).filter((shape) => everything || shape in main);
  const views = /** @type {View[]} */ (everything ? Object.keys(HEADINGS) : ['cost', 'throughput']);
  for (const view of views) {
    const shapes = chosen.filter((shape) => viewOf(shape) === view);
    if (shapes.length > 0) lines.push('', ...viewTable(record, view, shapes));
  }
  if (!everything) return lines;
  const targets = targetRows(record);
  if (targets.length > 0) {
    const met = targets.filter((row) => row.at(-1) === 'met').length;
    lines.push('', `Of the ${targets.length} targets that this record has figures for, ${met} are met.`);
    lines.push('', ...markdown(['shape', 'figure', 'relative to', 'target', 'of medians', 'of rounds', 'bare loop', ''], targets, 0));
  }
  const micro = microRows(record.micro ?? {});
  if (micro.length > 0) lines.push('', ...markdown(['the engine by itself', 'ns', 'GiB/s', 'ns per frame'], micro, 3));
  return lines;
}

/**
 * @param {BenchmarkRecord} record
 * @param {View} view
 * @param {string[]} shapes
 */
function viewTable(record, view, shapes) {
  const present = new Set(shapes.flatMap((shape) => Object.keys(record.results[shape])));
  const names = [...present];
  const rows = shapes.map((shape) => {
    const byCandidate = record.results[shape];
    return [shapeText(shape), ...names.map((candidate) => cell(byCandidate, candidate, view))];
  });
  return markdown([HEADINGS[view], ...names.map(candidateText)], rows, names.length);
}

/**
 * The first figure of the view, the others in parentheses, and the ratio to ws.
 *
 * @param {BenchmarkRecord['results'][string]} byCandidate
 * @param {string} candidate
 * @param {View} view
 */
function cell(byCandidate, candidate, view) {
  const columns = columnsOf(view);
  const figures = columns.flatMap(([metric, , factor]) => {
    const figure = summarize(byCandidate[candidate], metric);
    return figure ? [digits(figure.median * factor)] : [];
  });
  if (figures.length === 0) return '-';
  if (view === 'distribution') return `${figures[0]} (${figures.slice(1, 6).join(', ')})`;
  if (view === 'blocked') return `${figures[0]} (${figures.slice(1, 3).join(', ')}; ${figures[3]})`;
  const second = view === 'idle' ? figures[2] : figures[1];
  const alone = candidates()[candidate]?.withoutJs && ['cost', 'oneWay', 'rate'].includes(view);
  const ratio = candidate === 'ws' ? undefined : ratios(byCandidate[candidate], byCandidate.ws, columns[0][0]);
  return `${figures[0]} (${alone ? '-' : second})${ratio ? `, x ${digits(ratio.ofRounds)}` : ''}`;
}

/**
 * @param {string[]} heading
 * @param {string[][]} rows
 * @param {number} numbers How many of the last columns are numbers
 */
function markdown(heading, rows, numbers) {
  const marks = heading.map((_, column) => (column < heading.length - numbers ? '---|' : '---:|'));
  return [`| ${heading.join(' | ')} |`, `|${marks.join('')}`, ...rows.map((row) => `| ${row.join(' | ')} |`)];
}

// A record as the tables of the documents.
import { candidateText, candidates } from './candidates.mjs';
import { columnsOf, digits, microRows, shapeText, targetRows, viewOf } from './report.mjs';
import { TAILS, defaultShapes } from './shapes.mjs';
import { ratios, summarize } from './stats.mjs';
import { topicShapes } from './topic-shapes.mjs';

/** @typedef {import('./record.mjs').Figures} Figures */
/** @typedef {import('./shapes.mjs').View} View */

/** The first two columns of a view, and the divisor of its figures. */
const HEADINGS = {
  cost: 'CPU ns per message: all threads (main thread), x of ws',
  oneWay: 'CPU ns per message, one way: all threads (main thread), x of ws',
  throughput: '1000 echoes per second on all CPUs (CPU ns per echo), x of ws',
  distribution: 'round trip, us: mean (p50, p90, p99, p99.9, p99.99)',
  tail: 'round trip with all connections busy, us: mean (p50, p90, p99, p99.9, p99.99)',
  blocked: 'ping while the event loop is blocked, us: median (p99, max; KiB of memory more)',
  topics: 'CPU ns per delivery: all threads (us of the main thread per publish; ms to p50, p99), x of uWebSockets.js',
  jitter: '% delivered (recovery, ms: p50, p99)',
  avalanche: 'ms until all are back (95 %; CPU ns per handshake), x of ws',
  rate: 'CPU ns per handshake: all threads (main thread), x of ws',
  idle: 'bytes of memory per idle connection (CPU us per s of the idle server), x of ws',
};

/**
 * @param {Figures} record
 * @param {boolean} everything Also shapes that only --full measures, servers without JavaScript,
 *   targets, and the engine by itself
 * @returns {string[]} Lines of Markdown
 */
export function tables(record, everything) {
  const main = { ...defaultShapes(false), ...topicShapes };
  const chosen = Object.keys(record.results).filter((shape) => everything || shape in main);
  const others = new Set(chosen.map((shape) => record.headOf[shape]).filter((head) => head.options !== record.options));
  const lines = [`Measured ${headText(record)}.`];
  for (const head of others) {
    const names = chosen.filter((shape) => record.headOf[shape] === head).map(shapeText);
    lines.push('', `Measured ${headText(head)}: ${names.join('; ')}.`);
  }
  const views = /** @type {(keyof typeof HEADINGS)[]} */ (everything ? Object.keys(HEADINGS) : ['cost', 'throughput', 'topics', 'jitter', 'avalanche']);
  for (const view of views) {
    const shapes = chosen.filter((shape) => (view === 'tail' ? TAILS.includes(shape) : viewOf(shape) === view));
    if (shapes.length > 0) lines.push('', ...viewTable(record, view, shapes, everything));
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
 * @param {import('./record.mjs').Head} head
 */
function headText({ date, machine, options, versions }) {
  const system = `${machine.cpu}, ${machine.cores} cores, Linux ${machine.kernel}, Node ${machine.node}, ws ${versions.ws}`;
  return `${date}: ${system}; medians of ${options.rounds} rounds`;
}

/**
 * @param {Figures} record
 * @param {keyof typeof HEADINGS} view
 * @param {string[]} shapes
 * @param {boolean} everything Also servers without JavaScript
 */
function viewTable(record, view, shapes, everything) {
  const present = new Set(shapes.flatMap((shape) => Object.keys(record.results[shape])));
  const known = candidates();
  // An old record has candidates that are gone.
  const names = [...present].filter((name) => name in known && (everything || !known[name].withoutJs));
  const rows = shapes.map((shape) => {
    const byCandidate = record.results[shape];
    return [shapeText(shape), ...names.map((candidate) => cell(byCandidate, candidate, view === 'tail' ? 'distribution' : view))];
  });
  return markdown([HEADINGS[view], ...names.map(candidateText)], rows, names.length);
}

/**
 * The first figure of the view, the others in parentheses, and the ratio to
 * ws, for topics to uWebSockets.js.
 *
 * @param {Figures['results'][string]} byCandidate
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
  if (view === 'jitter') return figures.length > 2 ? `${figures[0]} (${figures[1]}, ${figures[2]})` : figures[0];
  const base = view === 'topics' ? 'uws' : 'ws';
  const ratio = candidate === base ? undefined : ratios(byCandidate[candidate], byCandidate[base], columns[0][0]);
  const times = ratio ? `, x ${digits(ratio.ofRounds)}` : '';
  if (view === 'topics') return `${figures[0]} (${figures[1]}; ${figures[2]}, ${figures[3]})${times}`;
  if (view === 'avalanche') return `${figures[0]} (${figures[1]}; ${figures[2]})${times}`;
  const second = view === 'idle' ? figures[2] : figures[1];
  const alone = candidates()[candidate]?.withoutJs && ['cost', 'oneWay', 'rate'].includes(view);
  return `${figures[0]} (${alone ? '-' : second})${times}`;
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

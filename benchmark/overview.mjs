// The pictures with the theme of the page: HttpArena's two benchmarks for README.md, and for docs/performance.md the cost of an echo on
// the JavaScript thread and the echoes per second.
import { escape } from './chart.mjs';
import { datesOf } from './record.mjs';
import { median, summarize } from './stats.mjs';

/** @typedef {import('./record.mjs').Figures} Figures */
/** @typedef {typeof THEMES.light} Theme */
/** @typedef {{ date: string, machine: Figures['machine'], versions: Record<string, string>, results: Record<string, Record<string, { rate: number }[]>> }} Arena */
/** @typedef {{ name: string, value: number, label: string, factor: string, highlighted: boolean }} Bar */

export const THEMES = {
  light: { page: '#ffffff', ink: '#1f2328', dim: '#59636e', ours: '#1d4fd7', others: '#b6bec8' },
  dark: { page: '#0d1117', ink: '#f0f6fc', dim: '#9198a1', ours: '#6ea0ff', others: '#484f58' },
};

const CANDIDATES = [
  ['ws', 'ws'],
  ['reactor', 'reactor-ws'],
  ['uws', 'uWebSockets.js'],
];
/** The shapes: with the server on one CPU for its cost, and on all CPUs for its throughput. */
const GROUPS = [
  ['100x20', '20 bytes, one message at a time on each of 100 connections'],
  ['100x20x32', '20 bytes, 32 messages on the way on each of 100 connections'],
  ['200x16384', '16 KiB, one message at a time on each of 200 connections'],
];
const LEFTS = [128, 480];
const PANELS = ['JavaScript thread: CPU per message|shorter is better', 'Messages per second|longer is better'];
/** HttpArena's profiles, and the servers of its record that are drawn. */
const PROFILES = ['echo-ws', 'echo-ws-pipeline'];
const ARENA_PANELS = ['One message in flight|messages per second', '16 messages in flight|messages per second'];
const ARENA_SERVERS = ['ws', 'Bun', 'uWebSockets.js', 'reactor-ws'];
const WIDTH = 860;
const BAR = 180;
const ROW = 22;
const HEAD = 70;
const GAP = 40;

/**
 * @param {Figures} record
 * @returns {string} A sentence with the first group's figures, and the machine
 */
export function overviewText(record) {
  const [group] = GROUPS;
  const [cpu] = cpuBars(record, group[0]).filter(({ highlighted }) => highlighted);
  const [theirAll, ourAll] = ['ws', 'reactor'].map((name) => summarize(record.results[group[0]]?.[name], 'cpu_ns_per_msg')?.median ?? NaN);
  const [ws, ours] = rateBars(record, group[0]);
  const { date, machine, options, versions } = record.headOf[group[0]];
  return (
    `Echoing 20 bytes on 100 connections costs the JavaScript thread ${cpu.factor} CPU time per message than with \`ws\`, and all ` +
    `threads together ${(ourAll / theirAll).toFixed(1)} times as much. The server echoes ${ours.label} messages per second, \`ws\` ${ws.label}. (${date}, ${machine.cpu}, ${machine.cores} cores, Node ${machine.node}, ` +
    `ws ${versions.ws}; medians of ${options.rounds} rounds.)`
  );
}

/**
 * @param {Figures} record
 * @param {Theme} theme
 * @returns {string} SVG
 */
export function overview(record, theme) {
  const { machine } = record;
  const shown = GROUPS.flatMap(([shape]) => [shape, `${shape}-unpinned`]);
  const foot = `Echo server, ${machine.cpu}, ${machine.cores} cores, Node ${machine.node}, ${datesOf(record, shown)}. Each group has its own scale.`;
  const groups = GROUPS.map(([shape, name]) => ({ name, panels: [cpuBars(record, shape), rateBars(record, shape)] }));
  return drawPanels(theme, PANELS, groups, foot);
}

/**
 * @param {Arena} record
 * @param {Theme} theme
 * @returns {string} SVG
 */
export function arena(record, theme) {
  const { date, machine, versions } = record;
  const foot = `HttpArena's load and programs, one core each for server and load. ${machine.cpu}, Node ${machine.node}, ws ${versions.ws}, ${date}.`;
  const groups = [512, 4096]
    .map((connections) => ({ name: `${connections.toLocaleString('en')} connections`, panels: PROFILES.map((profile) => arenaBars(record, profile, connections)) }))
    .filter(({ panels }) => panels.every((bars) => bars.length > 0));
  return drawPanels(theme, ARENA_PANELS, groups, foot);
}

/**
 * @param {Arena} record
 * @returns {string} A sentence with the figures of 512 connections
 */
export function arenaText(record) {
  const tell = (/** @type {string} */ profile) => {
    const all = Object.fromEntries(arenaBars(record, profile, 512).map(({ label, name }) => [name, label]));
    return `**${all['reactor-ws']}** messages a second; \`ws\` ${all.ws}, uWebSockets.js ${all['uWebSockets.js']}, Bun ${all.Bun}`;
  };
  return `[HttpArena](https://www.http-arena.com)'s load, 512 connections, one core: ${tell('echo-ws')}. With 16 messages in flight: ${tell('echo-ws-pipeline')}. [Run it yourself](benchmark/README.md#benchmarks-of-others).`;
}

/**
 * @param {Arena} record
 * @param {string} profile
 * @param {number} connections
 * @returns {Bar[]}
 */
function arenaBars({ results }, profile, connections) {
  const rates = results[`${profile}, cores: 1, connections: ${connections}`] ?? {};
  const value = (/** @type {string} */ name) => median((rates[name] ?? []).map(({ rate }) => rate));
  const servers = ARENA_SERVERS.filter((name) => rates[name] !== undefined);
  return servers.map((name) => {
    const highlighted = name === 'reactor-ws';
    return { name, value: value(name), label: rateLabel(value(name)), factor: highlighted ? `${rounded(value(name) / value('ws'))} x ws` : '', highlighted };
  });
}

/**
 * @param {Theme} theme
 * @param {string[]} titles Of each panel, and a note
 * @param {{ name: string, panels: Bar[][] }[]} groups
 * @param {string} foot
 * @returns {string} SVG
 */
function drawPanels(theme, titles, groups, foot) {
  const parts = titles.flatMap((title, index) => {
    const [name, note] = title.split('|');
    return [text(LEFTS[index], 28, name, 'title'), text(LEFTS[index], 46, note, 'dim')];
  });
  let y = HEAD;
  for (const { name, panels } of groups) {
    parts.push(text(16, y + 8, name, 'group'));
    y += 18;
    for (const [index, bars] of panels.entries()) {
      const longest = Math.max(...bars.map(({ value }) => value));
      for (const [row, bar] of bars.entries()) parts.push(draw(bar, LEFTS[index], y + row * ROW, longest, index === 0));
    }
    y += Math.max(...panels.map((bars) => bars.length)) * ROW + GAP - 18;
  }
  parts.push(text(16, y + 2, foot, 'dim'));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y + 16}" role="img" aria-label="${escape(ariaText(titles, groups))}">
<style>
  text { font: 13px system-ui, sans-serif; fill: ${theme.ink} }
  .title { font-size: 16px; font-weight: 600 } .group, .ours { font-weight: 600 } .dim { fill: ${theme.dim} } .name { text-anchor: end }
</style>
<rect width="100%" height="100%" fill="${theme.page}"/>
${parts.join('\n').replaceAll('{ours}', theme.ours).replaceAll('{others}', theme.others)}
</svg>
`;
}

/**
 * @param {Figures} record
 * @param {string} shape
 * @returns {Bar[]}
 */
function cpuBars(record, shape) {
  return bars(record, shape, 'js_cpu_ns_per_msg', (ns) => `${digits(ns / 1000)} µs`, (ours, theirs) =>
    `${Math.round(theirs / ours)} times less`,
  );
}

/**
 * @param {Figures} record
 * @param {string} shape
 * @returns {Bar[]}
 */
function rateBars(record, shape) {
  return bars(record, `${shape}-unpinned`, 'msgs_per_s', rateLabel, (ours, theirs) => `${rounded(ours / theirs)} times ws`);
}

/**
 * @param {Figures} record
 * @param {string} shape
 * @param {string} metric
 * @param {(value: number) => string} label
 * @param {(ours: number, theirs: number) => string} factor The sentence that compares ours with ws
 * @returns {Bar[]}
 */
function bars(record, shape, metric, label, factor) {
  const values = CANDIDATES.map(([candidate]) => summarize(record.results[shape]?.[candidate], metric)?.median ?? 0);
  const all = CANDIDATES.map(([candidate, name], index) => ({
    name,
    value: values[index],
    label: label(values[index]),
    factor: candidate === 'reactor' ? factor(values[index], values[0]) : '',
    highlighted: candidate === 'reactor',
  }));
  // A candidate that could not be measured has no bar.
  return all.filter(({ value }) => value > 0);
}

/**
 * @param {Bar} bar
 * @param {number} left
 * @param {number} y
 * @param {number} longest Value of the longest bar of the group
 * @param {boolean} named
 */
function draw({ name, value, label, factor, highlighted }, left, y, longest, named) {
  const width = Math.max(2, Math.round((value / longest) * BAR));
  const style = highlighted ? 'ours' : '';
  return [
    named ? text(left - 8, y + 15, name, `name ${style}`) : '',
    `<rect x="${left}" y="${y + 3}" width="${width}" height="${ROW - 6}" rx="2" fill="{${highlighted ? 'ours' : 'others'}}"/>`,
    text(left + width + 6, y + 15, factor ? `${label} (${factor})` : label, style),
  ].join('');
}

/**
 * @param {string[]} titles
 * @param {{ name: string, panels: Bar[][] }[]} groups
 * @returns {string}
 */
function ariaText(titles, groups) {
  const tell = (/** @type {Bar[]} */ bars) => bars.map((bar) => `${bar.name} ${bar.label}`).join(', ');
  return groups.map(({ name, panels }) => `${name}: ${panels.map((bars, index) => `${titles[index].replace('|', ', ')}: ${tell(bars)}`).join('; ')}.`).join(' ');
}

/** @param {number} rate Per second */
function rateLabel(rate) {
  return rate < 1e6 ? `${Math.round(rate / 1000)},000` : `${digits(rate / 1e6)} million`;
}

/**
 * @param {number} value
 * @returns {string} Two digits, or all before the point
 */
function digits(value) {
  return value >= 10 ? String(Math.round(value)) : String(Number(value.toPrecision(2)));
}

/**
 * @param {number} ratio
 */
function rounded(ratio) {
  return ratio >= 10 ? String(Math.round(ratio)) : ratio.toFixed(1);
}

/**
 * @param {number} x
 * @param {number} y
 * @param {string} content
 * @param {string} name Class
 */
function text(x, y, content, name) {
  return `<text x="${x}" y="${y}" class="${name.trim()}">${escape(content)}</text>`;
}

// Very many connections on one machine: their memory, and the cost of pings, of a message to all and of their end.
//
//   npm run bench -- --crowd 1000000 [--hold 60] [--candidates reactor,ws,uws] [--record]
//
// Every candidate has 200,000 connections, so that they can be compared; reactor-ws then has as many as were asked for, so that
// what grows faster than the number shows. Where the limit of open files may not be raised, so that one process cannot have them
// all, several servers have them; memory bounds the number.
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildServers } from './build.mjs';
import { writeOther } from './others/record.mjs';
import { benchmarkDir } from './paths.mjs';
import { canPin, raiseFileLimit, startLoad, startServer } from './server-process.mjs';

const COMPARED = 200_000;
const PAYLOAD = 20;
/** Bytes of the kernel, of the servers and of the load for a connection: more than was ever measured with reactor-ws. */
const MOST_EACH = 16_000;

const { values } = parseArgs({
  options: {
    crowd: { type: 'string' },
    hold: { type: 'string', default: '60' },
    candidates: { type: 'string', default: 'ws,uws,reactor' },
    record: { type: 'boolean' },
  },
});

await buildServers(true);
const pin = canPin();
const wanted = Number(values.crowd);
const spare = 1000;
/** Connections of one process. */
const each = raiseFileLimit(wanted + spare) - spare;
const most = Math.min(wanted, Math.floor(memory() / MOST_EACH));
if (most < wanted) console.error(`${most.toLocaleString('en')} connections: memory allows no more`);

const runs = [];
for (const kind of values.candidates.split(',')) {
  if (kind === 'uws' && !existsSync(process.env.UWS_PATH ?? '')) {
    console.error('Without uws: npm install --no-save @btc-vision/uwebsockets.js, or set UWS_PATH to its directory');
    continue;
  }
  await measure(kind, Math.min(most, COMPARED));
  if (kind === 'reactor' && most > COMPARED) await measure(kind, most);
}
print();
if (values.record) writeOther('crowd', { pinned: pin, hold: Number(values.hold), runs });

/** @param {string} kind @param {number} connections */
async function measure(kind, connections) {
  const processes = Math.ceil(connections / each);
  const units = [];
  try {
    for (let n = 0; n < processes; n++) units.push(await open(kind, Math.ceil(connections / processes)));
    for (const { hasSaid, child } of units) {
      await hasSaid('opened');
      child.stdin.write('\n');
    }
    for (const word of ['held', 'told']) {
      for (const { hasSaid } of units) await hasSaid(word);
      for (const { child } of units) child.stdin.write('\n');
    }
    const parts = await Promise.all(units.map(({ ended }) => ended));
    runs.push({ candidate: kind, processes, ...together(parts) });
    console.error(`${kind}: ${connections.toLocaleString('en')} connections were there, in ${processes} processes`);
  } catch (error) {
    console.error(`${kind}, ${connections.toLocaleString('en')} connections: ${error.message}`);
    process.exitCode = 1;
  } finally {
    await Promise.all(units.map(({ server }) => server.stop()));
  }
}

/** A server and its clients, once all are there. @param {string} kind @param {number} connections */
async function open(kind, connections) {
  const server = await startServer([process.execPath, join(benchmarkDir, 'servers', 'crowd.mjs'), kind, `${PAYLOAD}`], pin ? 0 : undefined);
  const load = { mode: 'crowd', connections, payload: PAYLOAD, hold: Number(values.hold), timeout: 300, 'in-step': true, ...(pin && { pin: 1 }) };
  const { child, ended } = startLoad(server, load);
  ended.catch(() => {});
  let said = '';
  child.stdout.on('data', (text) => (said += text));
  const hasSaid = async (/** @type {string} */ word) => {
    while (!said.includes(word)) await Promise.race([once(child.stdout, 'data'), ended.then(() => Promise.reject(new Error(`it has ended before it was ${word}`)))]);
  };
  await hasSaid('opened');
  return { server, child, ended, hasSaid };
}

/** The figures of several processes as one. @param {Record<string, number>[]} parts */
function together(parts) {
  const sum = (/** @type {string} */ key) => parts.reduce((all, part) => all + part[key], 0);
  /** @type {Record<string, number>} */
  const all = { connections: sum('connections'), pings: sum('pings'), open_s: sum('open_s') };
  for (const key of ['rss_per_connection_bytes', 'kernel_per_connection_bytes']) all[key] = sum(key) / parts.length;
  for (const key of ['publish_p50_s', 'publish_p99_s', 'publish_p100_s', 'end_s']) all[key] = Math.max(...parts.map((part) => part[key]));
  for (const phase of ['open', 'ping', 'publish', 'end']) {
    for (const key of [`cpu_ns_per_${phase}`, `js_cpu_ns_per_${phase}`]) all[key] = sum(key) / parts.length;
  }
  return all;
}

function print() {
  /** @type {Record<string, (run: Record<string, any>) => string>} */
  const rows = {
    'Connections': (run) => run.connections.toLocaleString('en'),
    'Processes': (run) => `${run.processes}`,
    'Bytes of the process for each': (run) => Math.round(run.rss_per_connection_bytes).toLocaleString('en'),
    'Bytes of the kernel for each, both ends': (run) => Math.round(run.kernel_per_connection_bytes).toLocaleString('en'),
    'Opened within': (run) => `${run.open_s.toFixed(1)} s`,
    'CPU for an opening (JavaScript)': (run) => pair(run, 'open'),
    'Pings answered': (run) => run.pings.toLocaleString('en'),
    'CPU for a ping and its pong (JavaScript)': (run) => pair(run, 'ping'),
    'A message to all: 99 % after': (run) => `${run.publish_p99_s.toFixed(2)} s`,
    'to everybody after': (run) => `${run.publish_p100_s.toFixed(2)} s`,
    'CPU for a delivery (JavaScript)': (run) => pair(run, 'publish'),
    'All closed within': (run) => `${run.end_s.toFixed(1)} s`,
    'CPU for an end (JavaScript)': (run) => pair(run, 'end'),
  };
  console.log(`| | ${runs.map((run) => run.candidate).join(' | ')} |\n| --- | ${runs.map(() => '---:').join(' | ')} |`);
  for (const [name, cell] of Object.entries(rows)) console.log(`| ${name} | ${runs.map(cell).join(' | ')} |`);
}

/** @param {Record<string, number>} run @param {string} phase */
function pair(run, phase) {
  const us = (/** @type {string} */ key) => (run[`${key}_${phase}`] / 1000).toFixed(2);
  return `${us('cpu_ns_per')} us (${us('js_cpu_ns_per')})`;
}

/** Bytes that are available. */
function memory() {
  const line = /^MemAvailable:\s+(\d+) kB/m.exec(existsSync('/proc/meminfo') ? readFileSync('/proc/meminfo', 'latin1') : '');
  return line ? Number(line[1]) * 1024 : Infinity;
}

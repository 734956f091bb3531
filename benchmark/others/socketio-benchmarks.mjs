// socketio/socket.io-benchmarks, from a checkout of its repository: its server and its client as they are, with `ws`, with the option
// `wsEngine` of reactor-ws, with the adapter of `reactor-ws/socket.io` as well, and its server for uWebSockets.js.
//
//   npm ci --ignore-scripts --prefix __test__/ecosystem     # has Socket.IO
//   node benchmark/others/socketio-benchmarks.mjs <checkout> [--rounds 5] [--seconds 10] [--clients 1000] [--polling 0.05,0]
//     [--broadcasts 50] [--only <engines>] [--record]
//
// Each client sends one ping a second. `--clients` and `--polling` replace two constants of the client: how many there are, and which
// share of them stays with HTTP (100 and 0.05 there). Broadcasts, so many a second with 100 bytes each, are ours: the repository has none. One
// more client, the last that has connected, says when it has got them. UWS_PATH names the directory of uWebSockets.js. The server runs on
// CPU 0, on port 3000, the clients on CPU 1.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { rootDir } from '../paths.mjs';
import { canPin, raiseFileLimit } from '../server-process.mjs';
import { median } from '../stats.mjs';
import { writeOther } from './record.mjs';

const BYTES = 100;
/** The repository's server for uWebSockets.js takes no other port. */
const ADDRESS = 'http://127.0.0.1:3000';
/** The repository's server reports this often, and so does its client. */
const REPORT_MS = 2000;
const here = fileURLToPath(new URL('.', import.meta.url));
const text = { type: /** @type {const} */ ('string') };
const { values, positionals } = parseArgs({
  options: {
    rounds: { ...text, default: '5' },
    seconds: { ...text, default: '10' },
    clients: { ...text, default: '1000' },
    polling: { ...text, default: '0.05,0' },
    broadcasts: { ...text, default: '50' },
    only: text,
    record: { type: 'boolean' },
  },
  allowPositionals: true,
});
if (positionals.length !== 1) throw new Error('name the checkout: node benchmark/others/socketio-benchmarks.mjs <checkout>');
const packages = join(rootDir, '__test__', 'ecosystem', 'node_modules');
if (!existsSync(join(packages, 'socket.io'))) throw new Error('Socket.IO is missing: npm ci --ignore-scripts --prefix __test__/ecosystem');
const pin = canPin();
const [clients, seconds, broadcasts] = [values.clients, values.seconds, values.broadcasts].map(Number);
raiseFileLimit(2 * clients + 1000);

const folder = mkdtempSync(join(tmpdir(), 'socketio-benchmarks-'));
process.once('exit', () => rmSync(folder, { recursive: true }));
symlinkSync(packages, join(folder, 'node_modules'));
writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
for (const file of ['server-default.js', 'server-uws.js', 'reporting.js']) copyFileSync(join(resolve(positionals[0]), file), join(folder, file));
const clientProgram = readFileSync(join(resolve(positionals[0]), 'client.js'), 'utf8');
const { io } = createRequire(join(folder, 'package.json'))('socket.io-client');

/** The program of each engine. @type {Record<string, string>} */
const all = {
  ws: 'server-default.js',
  ...(process.env.UWS_PATH && { 'uWebSockets.js': 'server-uws.js' }),
  'reactor-ws': 'server-default.js',
  'reactor-ws, rooms': 'server-default.js',
};
const engines = Object.keys(all).filter((name) => values.only?.split(';').includes(name) ?? true);

/** @typedef {Record<string, number>} Figures */
/** By share of polling, then by engine. @type {Record<string, Record<string, Figures[]>>} */
const results = {};
for (let round = 0; round < Number(values.rounds); round++) {
  for (const polling of values.polling.split(',')) {
    writeFileSync(join(folder, 'client.js'), withConstants(clientProgram, { MAX_CLIENTS: values.clients, POLLING_PERCENTAGE: polling }));
    for (const engine of engines) {
      const figures = await measure(engine);
      ((results[polling] ??= {})[engine] ??= []).push(figures);
      console.error(`polling: ${polling}, ${engine}: ${JSON.stringify(figures)}`);
    }
  }
}
for (const [polling, runs] of Object.entries(results)) {
  const columns = Object.keys(runs[engines[0]][0]);
  console.log(`\n| ${clients} clients, polling: ${polling} | ${columns.join(' | ')} |\n| --- |${' ---: |'.repeat(columns.length)}`);
  for (const [engine, figures] of Object.entries(runs)) {
    console.log(`| ${engine} | ${columns.map((column) => median(figures.map((run) => run[column]))).join(' | ')} |`);
  }
}
if (values.record) writeOther('socketio-benchmarks', { rounds: Number(values.rounds), seconds, clients, broadcasts, bytes: BYTES, pinned: pin, results });

/** @param {string} program @param {Record<string, string>} constants */
function withConstants(program, constants) {
  return Object.entries(constants).reduce((source, [name, value]) => {
    const declaration = new RegExp(`^const ${name} = .*;$`, 'm');
    if (!declaration.test(source)) throw new Error(`client.js of the checkout has no constant ${name}`);
    return source.replace(declaration, `const ${name} = ${value};`);
  }, program);
}

/** @param {string} engine @returns {Promise<Figures>} */
async function measure(engine) {
  const server = start(0, ['--expose-gc', all[engine]], { WS_ENGINE: engine });
  const pid = Number(server.child.pid);
  const children = [server.child];
  const observer = io(ADDRESS, { transports: ['websocket'], autoConnect: false });
  try {
    const [, , rssBefore, heapBefore] = await server.until(([, connected]) => connected === 0);
    const load = start(1, ['client.js'], { URL: ADDRESS });
    children.push(load.child);
    await server.until(([, connected]) => connected === clients);
    // What came with the connections has settled.
    await sleep(REPORT_MS);
    const begin = server.lines.length;
    const pingsFrom = load.lines.length;
    await sleep(seconds * 1000);
    const memory = server.lines.slice(begin);
    server.child.send('no collections');
    const pings = await cpuOf(pid, () => sleep(seconds * 1000));
    const latency = load.lines.slice(pingsFrom).map(([, , microseconds]) => microseconds);
    if (server.lines.at(-1)?.[1] !== clients) throw new Error(`${engine}: ${server.lines.at(-1)?.[1]} of ${clients} clients are left`);

    observer.connect();
    await once(observer, 'connect');
    /** @type {number[]} */
    const times = [];
    const count = broadcasts * seconds;
    const news = await cpuOf(pid, async () => {
      server.child.send({ count, milliseconds: 1000 / broadcasts, bytes: BYTES });
      await new Promise((done) => {
        observer.on('news', (sent) => times.push(Number(process.hrtime.bigint()) / 1e6 - sent) === count && done(undefined));
      });
    });
    const perClient = (/** @type {number} */ column, /** @type {number} */ before) =>
      round((median(memory.map((line) => line[column])) - before) / clients / 1024, 1);
    const perDelivery = (/** @type {'all' | 'main'} */ threads) =>
      round(((news[threads] - (pings[threads] * news.seconds) / pings.seconds) * 1e6) / (count * (clients + 1)), 2);
    return {
      'resident KiB a client': perClient(2, rssBefore),
      'heap KiB a client': perClient(3, heapBefore),
      'ping, mean us': round(median(latency), 0),
      'CPU us a ping': round((pings.all * 1e6) / (clients * pings.seconds), 1),
      'JavaScript us a ping': round((pings.main * 1e6) / (clients * pings.seconds), 1),
      'CPU us a delivery': perDelivery('all'),
      'JavaScript us a delivery': perDelivery('main'),
      'broadcast to the last, p50 ms': round(median(times), 2),
    };
  } finally {
    observer.disconnect();
    for (const child of children) {
      const ended = once(child, 'exit');
      if (child.kill('SIGKILL')) await ended;
    }
  }
}

/**
 * One of the programs, and its reports: a time, then numbers, with semicolons between.
 *
 * @param {number} cpu
 * @param {string[]} words
 * @param {Record<string, string>} env
 */
function start(cpu, words, env) {
  const hooks = ['--no-warnings', '--import', join(here, 'modules.mjs'), '--import', join(here, 'socketio-engine.mjs')];
  const command = [...(pin ? ['taskset', '-c', `${cpu}`] : []), process.execPath, ...hooks, ...words];
  const child = spawn(command[0], command.slice(1), {
    cwd: folder,
    env: { ...process.env, ...env, NODE_ENV: 'production' },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  /** @type {number[][]} */
  const lines = [];
  const reader = createInterface(/** @type {import('node:stream').Readable} */ (child.stdout));
  reader.on('line', (line) => lines.push(line.split(';').map(Number)));
  const ended = new AbortController();
  child.once('exit', () => ended.abort(new Error(`${words.join(' ')} has ended`)));
  /** @param {(line: number[]) => boolean} condition */
  const until = async (condition) => {
    for (;;) {
      await once(reader, 'line', { signal: AbortSignal.any([AbortSignal.timeout(120_000), ended.signal]) });
      const last = /** @type {number[]} */ (lines.at(-1));
      if (condition(last)) return last;
    }
  };
  return { child, lines, until };
}

/** Seconds on CPUs, of all threads and of JavaScript's. @param {number} pid @param {() => Promise<unknown>} use */
async function cpuOf(pid, use) {
  const threads = () => readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => sum + used(pid, thread), 0);
  const began = performance.now();
  const before = { all: threads(), main: used(pid, `${pid}`) };
  await use();
  return { all: threads() - before.all, main: used(pid, `${pid}`) - before.main, seconds: (performance.now() - began) / 1000 };
}

/** @param {number} pid @param {string} thread */
function used(pid, thread) {
  return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ')[0]) / 1e9;
}

/** @param {number} value @param {number} digits */
function round(value, digits) {
  return Number(value.toFixed(digits));
}

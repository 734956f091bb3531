// AnyCable's benchmarks of Socket.IO, from a checkout of anycable/nodejs-websocket-bench whose `backend` is installed and compiled to
// `backend/dist`: its servers and its clients as they are, Socket.IO with `ws` and with the option `wsEngine` of reactor-ws.
//
//   node benchmark/others/anycable.mjs <checkout> [--clients 1000] [--rounds 3] [--record]
//
// Jitter: each client is cut off for a second or two every 15 s. Avalanche: the server is killed, and all come back. The server runs
// on CPU 0, the clients on CPU 1.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { canPin, freePort } from '../server-process.mjs';
import { median } from '../stats.mjs';
import { writeOther } from './record.mjs';

const ENGINE = fileURLToPath(new URL('socketio-engine.mjs', import.meta.url));
const { values, positionals } = parseArgs({
  options: { clients: { type: 'string', default: '1000' }, rounds: { type: 'string', default: '3' }, record: { type: 'boolean' } },
  allowPositionals: true,
});
if (positionals.length !== 1) throw new Error('name the checkout: node benchmark/others/anycable.mjs <checkout>');
const backend = join(resolve(positionals[0]), 'backend');
const pin = canPin();
const common = { NUM_CLIENTS: values.clients, RAMP_RATE: '200' };
// The last message comes after the last client is back.
const jitter = { ...common, DURATION: '60', TOTAL_MESSAGES: '130', INTERVAL_MS: '500' };

/** @typedef {Record<string, number>} Figures */
/** By benchmark and engine. @type {Record<string, Record<string, Figures[]>>} */
const results = { jitter: {}, avalanche: {} };
for (let round = 0; round < Number(values.rounds); round++) {
  for (const engine of ['ws', 'reactor-ws']) {
    for (const [name, measure] of Object.entries({ jitter: measureJitter, avalanche: measureAvalanche })) {
      const figures = await measure(engine);
      (results[name][engine] ??= []).push(figures);
      console.error(`${name}, ${engine}: ${JSON.stringify(figures)}`);
    }
  }
}
for (const [name, engines] of Object.entries(results)) {
  const columns = Object.keys(Object.values(engines)[0][0]);
  console.log(`\n| ${name} | ${columns.join(' | ')} |\n| --- |${' ---: |'.repeat(columns.length)}`);
  for (const [engine, runs] of Object.entries(engines)) {
    console.log(`| ${engine} | ${columns.map((column) => median(runs.map((run) => run[column]))).join(' | ')} |`);
  }
}
if (values.record) writeOther('anycable', { rounds: Number(values.rounds), clients: Number(values.clients), pinned: pin, results });

/** @param {string} engine @returns {Promise<Figures>} */
async function measureJitter(engine) {
  const port = await freePort();
  const server = start(0, 'dist/socketio/server.js', engine, { PORT: `${port}` });
  const ended = once(server, 'exit');
  try {
    await once(createInterface(server.stdout), 'line');
    server.stdout.resume();
    const text = await output(start(1, 'dist/bench/jitter-socketio.js', engine, { ...jitter, SOCKETIO_URL: `http://127.0.0.1:${port}` }));
    const [result] = /\{"label".*\}/.exec(text) ?? [];
    if (result === undefined) throw new Error(`jitter, ${engine}: no result in ${text}`);
    const { deliveryRatePct, elapsedMs, jitterEvents, lostDeliveries, publishedMessages } = JSON.parse(result);
    const [, p50, p95, p99] = /Latency raw.* p50=(\d+) +p95=(\d+) +p99=(\d+)/.exec(text) ?? [];
    const period = elapsedMs / publishedMessages;
    return {
      'delivered, %': deliveryRatePct,
      'lost in a jitter, s': round((lostDeliveries / jitterEvents) * (period / 1000), 2),
      'p50, ms': Number(p50),
      'p95, ms': Number(p95),
      'p99, ms': Number(p99),
      'CPU of the server, s': await cpuOf(server),
    };
  } finally {
    server.kill('SIGKILL');
    await ended;
  }
}

/** @param {string} engine @returns {Promise<Figures>} */
async function measureAvalanche(engine) {
  const text = await output(start(1, 'dist/bench/avalanche-socketio.js', engine, { ...common, PORT: `${await freePort()}` }));
  const figure = (/** @type {string} */ name) => {
    const [, digits] = new RegExp(`^${name}: +(\\d+)`, 'm').exec(text) ?? [];
    if (digits === undefined) throw new Error(`avalanche, ${engine}: no ${name} in ${text}`);
    return Number(digits);
  };
  return {
    'seen by all, ms': figure('Disconnect detection'),
    'back p50, ms': figure('Reconnect p50'),
    'p95, ms': figure('Reconnect p95'),
    'p99, ms': figure('Reconnect p99'),
    'down, ms': figure('Total downtime'),
  };
}

/** @type {(cpu: number, path: string, engine: string, env: Record<string, string>) => import('node:child_process').ChildProcess} */
function start(cpu, path, engine, env) {
  const command = [...(pin ? ['taskset', '-c', `${cpu}`] : []), process.execPath, path];
  const options = `--import ${ENGINE}`;
  return spawn(command[0], command.slice(1), {
    cwd: backend,
    env: { ...process.env, ...env, NODE_OPTIONS: options, WS_ENGINE: engine, SERVER_CPU: pin ? '0' : '' },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
}

/** @param {import('node:child_process').ChildProcess} child */
async function output(child) {
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (chunk) => (text += chunk));
  await once(child, 'close');
  return text;
}

/** Seconds, asked of the process itself. @param {import('node:child_process').ChildProcess} server */
async function cpuOf(server) {
  server.send('cpu');
  const [microseconds] = await once(server, 'message');
  return round(microseconds / 1e6, 2);
}

/** @param {number} value @param {number} digits */
function round(value, digits) {
  return Number(value.toFixed(digits));
}

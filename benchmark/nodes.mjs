// Two nodes and Redis: the cost, the delay and the losses of messages published on another node.
//
//   node benchmark/nodes.mjs [--peers <folder with socket.io, its adapters, crossws and ioredis>] [--rounds 3] [--shapes a,b] [--record]
//
// One client of the first node publishes; all subscribers are clients of the second, whose CPU counts. With `losses` Redis is
// restarted in the middle, and each client is cut off every 15 s for a second. In the shapes of AnyCable's benchmark, `jitter`, `rooms` and
// `avalanche`, the clients come by HAProxy, each time to any node.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { RedisServer, hasRedis } from '../__test__/helpers/redis.mjs';
import { buildServers } from './build.mjs';
import { writeOther } from './others/record.mjs';
import { benchmarkDir } from './paths.mjs';
import { canPin, freePort, raiseFileLimit, runLoad, startLoad, startServer, waitForPort } from './server-process.mjs';
import { median } from './stats.mjs';

const { values } = parseArgs({
  options: {
    peers: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '3' },
    shapes: { type: 'string' },
    record: { type: 'boolean' },
  },
});
if (!hasRedis) throw new Error('redis-server is missing: apt install redis-server');
if (values.peers) process.env.PEERS_PATH = values.peers;

const history = { words: ['history'], load: { protocol: 'topics' } };
const socketio = { server: 'socketio', load: { protocol: 'socketio' } };
/** @type {Record<string, { server: string, words?: string[], load?: Record<string, string> }>} */
const CANDIDATES = {
  'reactor-ws': { server: 'reactor' },
  'reactor-ws, history': { server: 'reactor', ...history },
  ...(values.peers && {
    'Socket.IO, redis-adapter': socketio,
    'Socket.IO, redis-streams-adapter': { ...socketio, words: ['streams'] },
    'Socket.IO, redis-streams-adapter, recovery': { ...socketio, words: ['streams', 'recovery'] },
    crossws: { server: 'crossws' },
  }),
};

const SHAPES = Object.fromEntries(
  // One core has to read all deliveries: 50,000 a second, and 20,000 of those with 4 KiB.
  [10, 100, 1000, 10_000].flatMap((connections) =>
    [100, 4096].map((payload) => [`${connections}x${payload}`, { connections, payload, rate: (payload === 100 ? 50_000 : 20_000) / connections }]),
  ),
);
/** The ones that promise to deliver messages of the time when a client, or the broker, was away. */
const LOSSES = { connections: 300, payload: 100, rate: 20, seconds: 60, 'cut-every': 15, 'cut-for': 1 };

const BEHIND = {
  jitter: { mode: 'topics', connections: 1000, payload: 100, rate: 20, seconds: 15, 'cut-every': 3, 'cut-for': 0.4 },
  rooms: { mode: 'topics', connections: 1000, payload: 100, rate: 1000, rooms: 10, speakers: 100, seconds: 5 },
  avalanche: { mode: 'avalanche', connections: 5000, payload: 100 },
};

const teardowns = [];
const t = { teardown: (undo) => teardowns.push(undo) };

await buildServers(true);
raiseFileLimit(12_000);
const pin = canPin();
const results = {};
const chosen = values.shapes?.split(',') ?? [...Object.keys(SHAPES), ...Object.keys(BEHIND), 'losses'];
for (const shape of chosen.filter((shape) => shape in BEHIND)) {
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const name of Object.keys(CANDIDATES)) await measure(shape, name, BEHIND[shape]);
  }
}
for (const shape of chosen.filter((shape) => shape in SHAPES)) {
  const load = SHAPES[shape];
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const name of Object.keys(CANDIDATES)) await measure(shape, name, { seconds: Number(values.seconds), ...load });
  }
}
if (chosen.includes('losses')) for (const name of Object.keys(CANDIDATES)) await measure('losses', name, LOSSES);
print();
if (values.record) writeOther('nodes', { rounds: Number(values.rounds), pinned: pin, results });

/** @param {string} shape @param {string} name @param {Record<string, number>} load */
async function measure(shape, name, load) {
  const { server, words = [], load: own = {} } = CANDIDATES[name];
  const redis = await RedisServer.start(t, { appendonly: 'yes', appendfsync: 'always' });
  const command = [process.execPath, join(benchmarkDir, 'servers', 'topics', `${server}.mjs`), 'topics', `redis=${redis.path}`, ...words];
  const nodes = [];
  try {
    for (let n = 0; n < 2; n++) nodes.push(await startServer(command, pin ? 0 : undefined));
    await sleep(500);
    const [first, second] = nodes;
    const all = { mode: 'topics', warmup: 1, timeout: 30, ...load, ...own, ...(pin && { pin: 1 }) };
    if (shape in BEHIND) {
      const run = await behind(nodes, all);
      ((results[shape] ??= {})[name] ??= []).push(run);
      return void console.error(`${shape}, ${name}: ${JSON.stringify(run)}`);
    }
    const before = written(redis);
    const running = runLoad(second, { ...all, 'speaker-port': first.port });
    if (shape === 'losses') {
      await sleep(30_000);
      await redis.kill('SIGTERM');
      await sleep(1000);
      await redis.run();
    }
    const run = await running;
    if (shape !== 'losses') run.wire_bytes_per_publish = (written(redis) - before) / ((load.seconds + 1) * load.rate);
    ((results[shape] ??= {})[name] ??= []).push(run);
    console.error(`${shape}, ${name}: JavaScript ${(run.js_cpu_ns_per_publish / 1000).toFixed(1)} us, p99 ${(run.p99_us / 1000).toFixed(1)} ms`);
  } catch (error) {
    console.error(`${shape}, ${name}: ${error.message}`);
    ((results[shape] ??= {})[name] ??= []).push({ error: error.message });
  } finally {
    for (const node of nodes) await node.stop();
    for (const undo of teardowns.splice(0)) await undo();
  }
}

/** HAProxy spreads the load over the nodes; the CPU time of the second node counts. @param {Array<import('./server-process.mjs').Server>} nodes @param {Record<string, any>} load */
async function behind(nodes, load) {
  const folder = mkdtempSync(join(tmpdir(), 'reactor-ws-haproxy-'));
  const port = await freePort();
  const servers = nodes.map((node, n) => `  server node${n} 127.0.0.1:${node.port}`);
  const timeouts = ['connect 10s', 'client 60s', 'server 60s', 'tunnel 1h'].map((one) => `  timeout ${one}`);
  const lines = ['global', '  maxconn 8000', 'defaults', '  mode http', ...timeouts, 'listen all', `  bind 127.0.0.1:${port}`, '  balance roundrobin', ...servers];
  writeFileSync(join(folder, 'haproxy.cfg'), `${lines.join('\n')}\n`);
  const proxy = spawn('haproxy', ['-f', join(folder, 'haproxy.cfg')], { stdio: ['ignore', 'ignore', 'inherit'] });
  const ended = once(proxy, 'exit');
  try {
    await waitForPort(port);
    const { child, ended: report } = startLoad({ ...nodes[1], port }, load);
    if (load.mode === 'avalanche') {
      await Promise.race([once(child.stdout, 'data'), report]);
      child.stdin.write(`${port} ${nodes[1].pid}\n`);
    }
    return await report;
  } finally {
    proxy.kill();
    await ended;
    rmSync(folder, { recursive: true });
  }
}

/** Bytes that Redis has written and read. @param {RedisServer} redis */
function written(redis) {
  const info = redis.command('INFO', 'stats');
  return [/total_net_output_bytes:(\d+)/, /total_net_input_bytes:(\d+)/].reduce((sum, pattern) => sum + Number(pattern.exec(info)?.[1]), 0);
}

function print() {
  for (const [shape, byName] of Object.entries(results)) {
    if (shape in BEHIND) {
      printBehind(shape, byName);
      continue;
    }
    console.log(`\n${shape}\n\n| | CPU of JavaScript for a remote message | p50 | p99 | delivered | bytes at Redis for a message |\n| --- | ---: | ---: | ---: | ---: | ---: |`);
    for (const [name, runs] of Object.entries(byName)) {
      const good = runs.filter((run) => run.error === undefined);
      if (good.length === 0) {
        console.log(`| ${name} | ${runs[0].error} |`);
        continue;
      }
      const of = (key) => median(good.map((run) => run[key] ?? NaN));
      const ms = (key) => `${(of(key) / 1000).toFixed(1)} ms`;
      const share = shape === 'losses' ? `${of('delivered_percent').toFixed(2)} %` : '100 %';
      const bytes = shape === 'losses' ? '' : Math.round(of('wire_bytes_per_publish'));
      console.log(`| ${name} | ${(of('js_cpu_ns_per_publish') / 1000).toFixed(1)} us | ${ms('p50_us')} | ${ms('p99_us')} | ${share} | ${bytes} |`);
    }
  }
}

/** @param {string} shape @param {Record<string, any[]>} byName */
function printBehind(shape, byName) {
  console.log(`\n${shape}, behind HAProxy\n\n| | delivered | p50 | p99 | back, 95 % | all back |\n| --- | ---: | ---: | ---: | ---: | ---: |`);
  for (const [name, runs] of Object.entries(byName)) {
    const good = runs.filter((run) => run.error === undefined);
    if (good.length === 0) {
      console.log(`| ${name} | ${runs[0].error} |`);
      continue;
    }
    const show = (key, unit, divisor = 1) => (good[0][key] === undefined ? '' : `${(median(good.map((run) => run[key])) / divisor).toFixed(1)} ${unit}`);
    const cells = [show('delivered_percent', '%'), show('p50_us', 'ms', 1000), show('p99_us', 'ms', 1000), show('back_95_ms', 'ms'), show('back_100_ms', 'ms')];
    console.log(`| ${name} | ${cells.join(' | ')} |`);
  }
}

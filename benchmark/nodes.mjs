// Two nodes and Redis: what a message costs that was published on another node, when it comes, and what is lost.
//
//   node benchmark/nodes.mjs [--peers <folder with socket.io, its adapters, crossws and ioredis>] [--rounds 3] [--shapes a,b] [--record]
//
// One client of the first node publishes; all subscribers are clients of the second, whose CPU counts. With `losses` Redis is
// restarted in the middle, and each client is cut off every 15 s for a second.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { RedisServer, hasRedis } from '../__test__/helpers/redis.mjs';
import { buildServers } from './build.mjs';
import { writeOther } from './others/record.mjs';
import { benchmarkDir } from './paths.mjs';
import { canPin, raiseFileLimit, runLoad, startServer } from './server-process.mjs';
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

const history = { words: ['history'], load: { protocol: 'stamped' } };
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
  [100, 1000, 10_000].flatMap((connections) =>
    [100, 4096].map((payload) => [`${connections}x${payload}`, { connections, payload, rate: (payload === 100 ? 50_000 : 20_000) / connections }]),
  ),
);
/** Who promises to deliver what was sent while a client, or the broker, was away. */
const LOSSES = { connections: 300, payload: 100, rate: 20, seconds: 60, 'cut-every': 15, 'cut-for': 1 };

const teardowns = [];
const t = { teardown: (undo) => teardowns.push(undo) };

await buildServers(true);
raiseFileLimit(12_000);
const pin = canPin();
const results = {};
const chosen = values.shapes?.split(',') ?? [...Object.keys(SHAPES), 'losses'];
for (const shape of chosen.filter((shape) => shape !== 'losses')) {
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
    const all = { mode: 'topics', warmup: 1, timeout: 30, ...load, ...own, 'speaker-port': first.port, ...(pin && { pin: 1 }) };
    const before = written(redis);
    const running = runLoad(second, all);
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

/** Bytes that Redis has written and read. @param {RedisServer} redis */
function written(redis) {
  const info = redis.command('INFO', 'stats');
  return [/total_net_output_bytes:(\d+)/, /total_net_input_bytes:(\d+)/].reduce((sum, pattern) => sum + Number(pattern.exec(info)?.[1]), 0);
}

function print() {
  for (const [shape, byName] of Object.entries(results)) {
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

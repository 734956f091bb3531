// The time of a message by thread and layer: the parts of a figure of the
// benchmark. Needs perf. See README.md.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { buildServers } from './build.mjs';
import { candidates } from './candidates.mjs';
import { LAYERS, layerOf } from './layers.mjs';
import { startOf, loadOf } from './rounds.mjs';
import { canPin, runLoad } from './server-process.mjs';
import { shapes } from './shapes.mjs';
import { median } from './stats.mjs';

/** @typedef {import('./layers.mjs').Layer} Layer */
/** @typedef {import('./server-process.mjs').Server} Server */
/**
 * @typedef {object} Profile
 * @property {number[]} ns CPU ns per message of each round
 * @property {number} samples
 * @property {Record<'main' | 'others', Partial<Record<Layer, number>>>} parts Samples of each layer
 */

const USAGE = `usage: npm run bench:profile -- [options]

  --shapes a,b        default 10x1024; of ${Object.keys(shapes).join(', ')}
  --candidates a,b    default reactor,reactor_echo,mio_echo; of ${Object.keys(candidates()).join(', ')}
  --rounds N          default 3
  --seconds S         of each window and each profile, default 1

Prints CPU ns per message of each layer, of the JavaScript thread (or the only one) and of the others.`;

const SAMPLES_PER_SECOND = 4000;
/** Layers below this share are left out. */
const LEAST_SHOWN = 0.01;

const { values } = parseArgs({
  options: {
    shapes: { type: 'string', default: '10x1024' },
    candidates: { type: 'string', default: 'reactor,reactor_echo,mio_echo' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '1' },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) {
  console.log(USAGE);
} else {
  await main().catch((error) => {
    console.error(`profile: ${error.message}`);
    process.exitCode = 1;
  });
}

async function main() {
  if (spawnSync('perf', ['--version']).status !== 0) throw new Error('perf is missing; Debian has it in linux-perf');
  if (!canPin()) throw new Error('needs taskset and two CPUs');
  await buildServers();
  for (const name of values.shapes.split(',')) {
    const shape = shapes[name];
    if (!shape) throw new Error(`No shape ${name}; there are ${Object.keys(shapes).join(', ')}`);
    printTable(shape, await profileAll(shape, values.candidates.split(',')));
  }
}

/**
 * In turn, as the benchmark does.
 *
 * @param {import('./shapes.mjs').Shape} shape
 * @param {string[]} names
 */
async function profileAll(shape, names) {
  const chosen = Object.fromEntries(names.map((name) => [name, watched(name)]));
  const plan = { shape, candidates: chosen, pin: true };
  /** @type {Map<string, Server>} */
  const running = new Map();
  /** @type {Record<string, Profile>} */
  const profiles = {};
  try {
    for (let round = 0; round < Number(values.rounds); round++) {
      for (const name of names) {
        const server = running.get(name) ?? (await startOf(plan, name));
        running.set(name, server);
        const profile = (profiles[name] ??= { ns: [], samples: 0, parts: { main: {}, others: {} } });
        profile.ns.push(await measureAndSample(server, loadOf(plan, name), profile, round === 0 ? 1.5 : 0.3));
      }
    }
  } finally {
    for (const server of running.values()) await server.stop();
  }
  return profiles;
}

/**
 * The candidate, with the names of what V8 compiles.
 *
 * @param {string} name
 */
function watched(name) {
  const candidate = candidates()[name];
  if (!candidate || candidate.missing) throw new Error(`${name}: ${candidate?.missing ?? 'no such candidate'}`);
  const [program, ...words] = candidate.command;
  return { ...candidate, command: candidate.withoutJs ? candidate.command : [program, '--perf-basic-prof', ...words] };
}

/**
 * The figure comes from a window without perf, the shares from the window behind it.
 *
 * @param {Server} server
 * @param {ReturnType<typeof loadOf>} load
 * @param {Profile} profile
 * @param {number} warmup
 * @returns {Promise<number>} CPU ns per message
 */
async function measureAndSample(server, load, profile, warmup) {
  const seconds = Number(values.seconds);
  const { cpu_ns_per_msg: ns } = await runLoad(server, { ...load, warmup, seconds });
  const loaded = runLoad(server, { ...load, warmup: 0.4, seconds: seconds + 0.8 });
  await sleep(600);
  await sample(server.pid, seconds, loaded, profile);
  return ns;
}

/**
 * @param {number} pid
 * @param {number} seconds
 * @param {Promise<unknown>} loaded
 * @param {Profile} profile
 */
async function sample(pid, seconds, loaded, profile) {
  const directory = mkdtempSync(join(tmpdir(), 'reactor-ws-profile-'));
  try {
    const data = join(directory, 'perf.data');
    const record = ['record', '--quiet', '-F', `${SAMPLES_PER_SECOND}`, '-e', 'cpu-clock', '-o', data, '-p', `${pid}`];
    const recorder = spawn('perf', [...record, '--', 'sleep', `${seconds}`], { stdio: 'ignore' });
    await Promise.all([loaded, once(recorder, 'exit')]);
    await countSamples(data, pid, profile);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/**
 * @param {string} data
 * @param {number} pid Also the number of the main thread
 * @param {Profile} profile
 */
async function countSamples(data, pid, profile) {
  const script = spawn('perf', ['script', '-i', data, '-F', 'tid,ip,sym,dso'], { stdio: ['ignore', 'pipe', 'ignore'] });
  for await (const line of createInterface({ input: script.stdout })) {
    const [, thread, symbol, image] = /^\s*(\d+)\s+[0-9a-f]+\s+(.*)\s\((.*)\)$/.exec(line) ?? [];
    if (!thread) continue;
    const parts = profile.parts[Number(thread) === pid ? 'main' : 'others'];
    const layer = layerOf(image, symbol);
    parts[layer] = (parts[layer] ?? 0) + 1;
    profile.samples++;
  }
  if (profile.samples === 0) throw new Error('perf took no samples; it may not be allowed to (kernel.perf_event_paranoid)');
}

/**
 * @param {import('./shapes.mjs').Shape} shape
 * @param {Record<string, Profile>} profiles
 */
function printTable(shape, profiles) {
  const names = Object.keys(profiles);
  const all = Object.values(profiles);
  const row = (/** @type {string[]} */ cells) => console.log(`| ${cells.join(' | ')} |`);
  console.log(`\n${shape.text}, CPU ns per message\n`);
  row(['', ...names.map((name) => candidates()[name].text)]);
  console.log(`|---|${names.map(() => '---:|').join('')}`);
  row(['all', ...all.map(({ ns }) => digits(median(ns)))]);
  for (const thread of /** @type {const} */ (['main', 'others'])) {
    const sums = all.map(({ parts }) => Object.values(parts[thread]).reduce((sum, count) => sum + count, 0));
    if (sums.every((sum) => sum === 0)) continue;
    const nsOf = (/** @type {number[]} */ counts) => all.map(({ ns, samples }, at) => (counts[at] / samples) * median(ns));
    row([thread === 'main' ? '**main thread**' : '**other threads**', ...nsOf(sums).map(digits)]);
    for (const layer of /** @type {Layer[]} */ (Object.keys(LAYERS))) {
      const counts = all.map(({ parts }) => parts[thread][layer] ?? 0);
      if (counts.some((count, at) => count >= LEAST_SHOWN * all[at].samples)) row([LAYERS[layer], ...nsOf(counts).map(digits)]);
    }
  }
}

/**
 * @param {number} ns
 */
function digits(ns) {
  return ns === 0 ? '-' : ns < 100 ? ns.toPrecision(2) : Math.round(ns).toLocaleString('en');
}

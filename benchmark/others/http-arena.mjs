// HttpArena's echo-ws and echo-ws-pipeline, from checkouts of its repository and of its load generator: their validation, their load,
// and their programs for ws and Bun as they are. Our entry is in the folder `http-arena`.
//
//   node benchmark/others/http-arena.mjs <checkout of MDA2AV/HttpArena> <checkout of MDA2AV/gcannon>
//     [--rounds 5] [--seconds 5] [--connections 512,4096] [--cores 1,2] [--only <names>] [--record]
//
// gcannon is built before (`make`; it needs liburing 2.4 or later). BUN_PATH names Bun's program, UWS_PATH the directory of
// uWebSockets.js; the script leaves out a peer without a path. The programs listen on port 8080. With one core the server has CPU 0 and the load
// CPU 1; with two, both have both.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { rootDir } from '../paths.mjs';
import { raiseFileLimit, waitForPort } from '../server-process.mjs';
import { median } from '../stats.mjs';
import { writeOther } from './record.mjs';

const PORT = 8080;
const PROFILES = { 'echo-ws': '1', 'echo-ws-pipeline': '16' };
const HZ = Number(spawnSync('getconf', ['CLK_TCK']).stdout);
const here = fileURLToPath(new URL('.', import.meta.url));
const { BUN_PATH, UWS_PATH } = process.env;
const text = { type: /** @type {const} */ ('string') };
const { values, positionals } = parseArgs({
  options: {
    rounds: { ...text, default: '5' },
    seconds: { ...text, default: '5' },
    connections: { ...text, default: '512,4096' },
    cores: { ...text, default: '1,2' },
    only: text,
    record: { type: 'boolean' },
  },
  allowPositionals: true,
});
if (positionals.length !== 2) throw new Error('name two checkouts: node benchmark/others/http-arena.mjs <HttpArena> <gcannon>');
const [arena, gcannon] = positionals.map((path) => resolve(path));
const frameworks = join(arena, 'frameworks');
const scratch = mkdtempSync(join(tmpdir(), 'http-arena-'));
process.once('exit', () => rmSync(scratch, { recursive: true }));

/** @typedef {{ rate: number, cpu: number, memory: number, p50: number, p99: number }} Figures */

const wsPackage = dirname(createRequire(import.meta.url).resolve('ws/package.json'));
const theirProgram = join(frameworks, 'node-websocket', 'server.js');
/** The command of each server. @type {Record<string, string[]>} */
const all = {
  ws: [process.execPath, withPackage('ws', wsPackage, theirProgram)],
  ...(BUN_PATH && { Bun: ['sh', '-c', 'for i in $(seq $(nproc)); do "$0" run "$1" & done; wait', BUN_PATH, join(frameworks, 'bun-websocket', 'server.ts')] }),
  ...(UWS_PATH && { 'uWebSockets.js': [process.execPath, join(here, 'http-arena-uws.cjs')] }),
  'reactor-ws, the program of ws': [process.execPath, withPackage('ws', rootDir, theirProgram)],
  'reactor-ws': [process.execPath, withPackage('reactor-ws', rootDir, join(here, 'http-arena', 'server.mjs'))],
};
const servers = Object.entries(all).filter(([name]) => values.only?.split(',').includes(name) ?? true);
const numbers = (/** @type {string} */ list) => list.split(',').map(Number);
raiseFileLimit(20_000);

/** By profile, cores, connections; then by server. @type {Record<string, Record<string, Figures[]>>} */
const results = {};
for (const [name, command] of servers) await validate(name, command);
for (let round = 0; round < Number(values.rounds); round++) {
  for (const cores of numbers(values.cores)) {
    for (const connections of numbers(values.connections)) {
      for (const [name, command] of servers) {
        await serve(command, cores, async (pid) => {
          for (const [profile, depth] of Object.entries(PROFILES)) {
            const figures = await load(pid, cores, connections, depth);
            const key = `${profile}, cores: ${cores}, connections: ${connections}`;
            ((results[key] ??= {})[name] ??= []).push(figures);
            console.error(`${key}, ${name}: ${Math.round(figures.rate)} a second, ${figures.memory.toFixed(0)} MiB`);
          }
        });
      }
    }
  }
}

for (const [key, runs] of Object.entries(results)) {
  console.log(`\n| ${key} | thousand echoes a second | CPU, us | MiB | p50, us | p99, us |\n| --- | ---: | ---: | ---: | ---: | ---: |`);
  for (const [name, all] of Object.entries(runs)) {
    const of = (/** @type {keyof Figures} */ figure) => median(all.map((run) => run[figure]));
    console.log(`| ${name} | ${(of('rate') / 1000).toFixed(0)} | ${of('cpu').toFixed(2)} | ${of('memory').toFixed(0)} | ${of('p50')} | ${of('p99')} |`);
  }
}
if (values.record) writeOther('http-arena', { rounds: Number(values.rounds), seconds: Number(values.seconds), results });

/**
 * A copy of a program for which `name` is the package in `folder`.
 *
 * @param {string} name
 * @param {string} folder
 * @param {string} program
 */
function withPackage(name, folder, program) {
  const home = mkdtempSync(join(scratch, 'server-'));
  mkdirSync(join(home, 'node_modules'));
  symlinkSync(folder, join(home, 'node_modules', name));
  copyFileSync(program, join(home, basename(program)));
  return join(home, basename(program));
}

/** @param {string} name @param {string[]} command */
async function validate(name, command) {
  await serve(command, 2, async () => {
    const { status, stdout } = spawnSync('python3', [join(arena, 'scripts', 'validate-ws.py'), '127.0.0.1'], { encoding: 'utf8' });
    console.error(`${name}: ${stdout.trim().split('\n').at(-1)}`);
    // The program for ws answers texts with binary messages, and does not pass.
    if (status !== 0 && name === 'reactor-ws') throw new Error(`${name} does not pass validate-ws.py:\n${stdout}`);
  });
}

/**
 * @param {string[]} command
 * @param {number} cores
 * @param {(pid: number) => Promise<void>} use
 */
async function serve(command, cores, use) {
  const env = { ...process.env, NODE_ENV: 'production' };
  const server = spawn('taskset', ['-c', cores === 1 ? '0' : '0,1', ...command], { stdio: ['ignore', 'pipe', 'inherit'], env, detached: true });
  const ended = once(server, 'exit');
  try {
    await once(createInterface(server.stdout), 'line');
    server.stdout.resume();
    await waitForPort(PORT);
    await sleep(500);
    await use(Number(server.pid));
  } finally {
    process.kill(-Number(server.pid), 'SIGKILL');
    await ended;
  }
}

/**
 * @param {number} group Of the server's processes
 * @param {number} cores
 * @param {number} connections
 * @param {string} depth
 * @returns {Promise<Figures>}
 */
async function load(group, cores, connections, depth) {
  const words = [`http://127.0.0.1:${PORT}/ws`, '--ws', '-c', `${connections}`, '-t', '1', '-d', `${values.seconds}s`, '-p', depth, '--json'];
  const before = processes(group).ticks;
  const child = spawn('taskset', ['-c', cores === 1 ? '1' : '0,1', join(gcannon, 'gcannon'), ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk) => (output += chunk));
  // The connections are still there half a second before the end.
  await sleep(Number(values.seconds) * 1000 - 500);
  const { memory } = processes(group);
  await once(child, 'close');
  const result = JSON.parse(output);
  if (result.ws_upgrades < connections) console.error(`only ${result.ws_upgrades} of ${connections} connected`);
  if (result.responses === 0 || result.errors.read > 0) throw new Error(`the load has failed: ${output}`);
  const cpu = ((processes(group).ticks - before) / HZ) * 1e6;
  return { rate: result.rps, cpu: cpu / result.responses, memory, p50: result.latency_us.p50, p99: result.latency_us.p99 };
}

/** @param {number} group */
function processes(group) {
  const sum = { ticks: 0, memory: 0 };
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1].split(' ');
      if (Number(fields[2]) !== group) continue;
      sum.ticks += Number(fields[11]) + Number(fields[12]);
      const [, kilobytes] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? [];
      sum.memory += Number(kilobytes ?? 0) / 1024;
    } catch {
      // It has ended meanwhile.
    }
  }
  return sum;
}

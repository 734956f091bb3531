// The chat benchmark of crossws, which is Bun's, from a checkout of its repository: its servers and its client as they are.
// 32 clients; everything that is said goes to all of them.
//
//   node benchmark/others/chat.mjs <checkout of h3js/crossws> [--rounds 5] [--record]
//
// UWS_PATH names the directory of uWebSockets.js, BUN_PATH Bun's program; what is not named is left out. The server runs on CPU 0,
// the client on CPU 1.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { canPin, freePort } from '../server-process.mjs';
import { median } from '../stats.mjs';
import { writeOther } from './record.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const { BUN_PATH, UWS_PATH } = process.env;
const LOADER = ['--no-warnings', '--import', join(here, 'modules.mjs')];
const HZ = Number(spawnSync('getconf', ['CLK_TCK']).stdout);

const { values, positionals } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, record: { type: 'boolean' } },
  allowPositionals: true,
});
if (positionals.length !== 1) throw new Error('name the checkout of crossws: node benchmark/others/chat.mjs <checkout>');
const bench = join(resolve(positionals[0]), 'bench');
const pin = canPin();

/** The command of each server, and what its environment adds. */
const SERVERS = {
  ws: node('server.node-ws-standalone.ts', { SERVES_WS: 'ws' }),
  'reactor-ws, the program of ws': node('server.node-ws-standalone.ts', { SERVES_WS: 'reactor-ws' }),
  'reactor-ws, broadcast()': [process.execPath, [join(here, 'chat-broadcast.mjs')], {}],
  ...(UWS_PATH && { 'uWebSockets.js': node('server.uws-standalone.ts', { UWS_PATH }) }),
  ...(BUN_PATH && { Bun: [BUN_PATH, [join(bench, 'server.bun-native.ts')], {}] }),
};

/** @type {Record<string, { rate: number, cpu: number }[]>} */
const results = Object.fromEntries(Object.keys(SERVERS).map((name) => [name, []]));
for (let round = 0; round < Number(values.rounds); round++) {
  for (const name of Object.keys(SERVERS)) results[name].push(await measure(name));
}

console.log('| Server | Messages a second | CPU of the server per delivery |\n| --- | --- | --- |');
for (const [name, runs] of Object.entries(results)) {
  const rate = median(runs.map((run) => run.rate));
  console.log(`| ${name} | ${Math.round(rate).toLocaleString('en')} | ${median(runs.map((run) => run.cpu)).toFixed(3)} us |`);
}
if (values.record) writeOther('chat', { rounds: Number(values.rounds), pinned: pin, results });

/** @param {string} file @param {Record<string, string>} env */
function node(file, env) {
  return [process.execPath, [...LOADER, join(bench, file)], env];
}

/** @param {string} name */
async function measure(name) {
  const [program, words, env] = SERVERS[name];
  const port = await freePort();
  const server = start(0, program, words, { ...env, PORT: `${port}`, NODE_ENV: 'production' });
  try {
    await once(createInterface(server.stdout), 'line');
    server.stdout.resume();
    const before = ticks(server.pid);
    const client = start(1, process.execPath, [...LOADER, join(bench, 'client.mjs')], { SERVER: `ws://127.0.0.1:${port}`, LABEL: name });
    let result;
    for await (const line of createInterface(client.stdout)) {
      if (line.startsWith('__BENCH_RESULT__ ')) result = JSON.parse(line.slice(17));
    }
    if (result === undefined) throw new Error(`${name}: the client has no result`);
    const cpu = (ticks(server.pid) - before) / HZ;
    const delivered = result.runs.reduce((sum, count) => sum + count, 0);
    console.error(`${name}: ${result.median.toLocaleString('en')} a second`);
    return { rate: result.median, cpu: (cpu * 1e6) / delivered };
  } finally {
    server.kill('SIGKILL');
    await sleep(200);
  }
}

/** @param {number} cpu @param {string} program @param {string[]} words @param {Record<string, string>} env */
function start(cpu, program, words, env) {
  const command = [...(pin ? ['taskset', '-c', `${cpu}`] : []), program, ...words];
  return spawn(command[0], command.slice(1), { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'inherit'] });
}

/** The time on CPUs of all threads of a process, in clock ticks. */
function ticks(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1].split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

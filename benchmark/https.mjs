// HTTP and HTTPS of a Node server, by its own port and by listen(): requests a second, CPU time of all threads and of JavaScript's, p50, p99.
//
//   node benchmark/https.mjs [--rounds 5] [--seconds 3] [--only <shapes>] [--record]
//
// Needs wrk, and h2load for HTTP/2. Express and Fastify come from __test__/ecosystem, where they are installed. The server has CPU 0,
// the load CPU 1.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { writeOther } from './others/record.mjs';
import { benchmarkDir, rootDir } from './paths.mjs';
import { canPin, startServer } from './server-process.mjs';
import { median } from './stats.mjs';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, seconds: { type: 'string', default: '3' }, only: { type: 'string' }, record: { type: 'boolean' } },
});
const HZ = Number(spawnSync('getconf', ['CLK_TCK']).stdout);
const WAYS = ['http', 'listen', 'https', 'listen-tls'];
const scratch = mkdtempSync(join(tmpdir(), 'https-'));
process.once('exit', () => rmSync(scratch, { recursive: true }));
const upload = join(scratch, 'upload.lua');
writeFileSync(upload, "wrk.method = 'POST'\nwrk.body = string.rep('a', 65536)\n");

/** @typedef {{ program: string, path: string, tool?: 'h2load', ways?: string[], words?: string[] }} Shape */
/** @typedef {{ rate: number, cpu: number, javascript: number, p50: number, p99: number }} Figures */

/** @type {Record<string, Shape>} */
const shapes = {
  '100 B': { program: 'plain', path: '/100' },
  '64 KiB': { program: 'plain', path: '/65536' },
  'upload of 64 KiB': { program: 'plain', path: '/100', words: ['-s', upload] },
  'a connection for each request': { program: 'plain', path: '/100', words: ['-H', 'Connection: close'] },
  'Express, 100 B': { program: 'express', path: '/100' },
  'Fastify, 100 B': { program: 'fastify', path: '/100' },
  'HTTP/2, 100 B': { program: 'h2', path: '/100', tool: 'h2load', ways: ['https', 'listen-tls'] },
};
const chosen = Object.entries(shapes).filter(([name, { program }]) => {
  if (values.only !== undefined && !values.only.split(',').includes(name)) return false;
  // listen() takes HTTP/2 servers from Node 22 on.
  if (program === 'h2' && Number.parseInt(process.versions.node) < 22) return false;
  return !['express', 'fastify'].includes(program) || existsSync(join(rootDir, '__test__/ecosystem/node_modules', program));
});
const pin = canPin();

/** By shape and way. @type {Record<string, Record<string, Figures[]>>} */
const results = {};
for (let round = 0; round < Number(values.rounds); round++) {
  for (const [name, shape] of chosen) {
    for (const way of shape.ways ?? WAYS) {
      const figures = await measure(way, shape);
      ((results[name] ??= {})[way] ??= []).push(figures);
      console.error(name, way, JSON.stringify(figures));
    }
  }
}
for (const [name, ways] of Object.entries(results)) {
  console.log(`\n| ${name} | requests a second | CPU us | JavaScript's us | p50 ms | p99 ms |\n| --- | ---: | ---: | ---: | ---: | ---: |`);
  for (const [way, runs] of Object.entries(ways)) {
    const of = (/** @type {keyof Figures} */ figure, /** @type {number} */ digits) => median(runs.map((run) => run[figure])).toFixed(digits);
    console.log(`| ${way} | ${of('rate', 0)} | ${of('cpu', 1)} | ${of('javascript', 1)} | ${of('p50', 2)} | ${of('p99', 2)} |`);
  }
}
if (values.record) writeOther('https', { rounds: Number(values.rounds), pinned: pin, results });

/**
 * @param {string} way
 * @param {Shape} shape
 * @returns {Promise<Figures>}
 */
async function measure(way, { program, path, tool = 'wrk', words = [] }) {
  const server = await startServer([process.execPath, join(benchmarkDir, 'servers', 'https.mjs'), way, program], pin ? 0 : undefined);
  const url = `${way === 'https' || way === 'listen-tls' ? 'https' : 'http'}://127.0.0.1:${server.port}${path}`;
  try {
    await load(tool, url, words, 0.5);
    const [all, javascript] = ticks(server.pid);
    const { requests, seconds, p50, p99 } = await load(tool, url, words, Number(values.seconds));
    const [allAfter, javascriptAfter] = ticks(server.pid);
    const each = (/** @type {number} */ sum) => ((sum / HZ) * 1e6) / requests;
    return { rate: requests / seconds, cpu: each(allAfter - all), javascript: each(javascriptAfter - javascript), p50, p99 };
  } finally {
    await server.stop('SIGKILL');
  }
}

/** @param {string} tool @param {string} url @param {string[]} words @param {number} seconds */
async function load(tool, url, words, seconds) {
  const command = { wrk: ['wrk', '-t1', '-c50', `-d${Math.ceil(seconds)}s`, '--latency', ...words, url], h2load: ['h2load', '-t1', '-c10', '-m10', `-D${Math.ceil(seconds)}`, url] };
  const [file, ...rest] = [...(pin ? ['taskset', '-c', '1'] : []), ...command[/** @type {'wrk'} */ (tool)]];
  const child = spawn(file, rest, { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk) => (text += chunk));
  await once(child, 'close');
  if (tool === 'wrk') {
    const [, requests, duration] = /(\d+) requests in ([\d.]+)s/.exec(text) ?? [];
    if (requests === undefined || requests === '0') throw new Error(`${url}: ${text}`);
    return { requests: Number(requests), seconds: Number(duration), p50: milliseconds(/50% +(\S+)/, text), p99: milliseconds(/99% +(\S+)/, text) };
  }
  const [, duration] = /finished in ([\d.]+)s/.exec(text) ?? [];
  const [, requests] = /(\d+) succeeded/.exec(text) ?? [];
  if (requests === undefined || requests === '0') throw new Error(`${url}: ${text}`);
  // h2load prints no percentiles: the mean.
  return { requests: Number(requests), seconds: Number(duration), p50: milliseconds(/time for request: +\S+ +\S+ +(\S+)/, text), p99: 0 };
}

/** @param {RegExp} pattern @param {string} text */
function milliseconds(pattern, text) {
  const [, number, unit] = /^([\d.]+)(us|ms|s)$/.exec(pattern.exec(text)?.[1] ?? '') ?? [];
  return Number(number) * { us: 0.001, ms: 1, s: 1000 }[/** @type {'us'} */ (unit)];
}

/** CPU time of all threads and of JavaScript's, in ticks. @param {number} pid */
function ticks(pid) {
  return [`/proc/${pid}/stat`, `/proc/${pid}/task/${pid}/stat`].map((file) => {
    const fields = readFileSync(file, 'latin1').split(') ')[1].split(' ');
    return Number(fields[11]) + Number(fields[12]);
  });
}

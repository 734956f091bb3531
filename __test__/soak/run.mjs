// Thousands of connections that come and go for a long time, clients of ws in another process
// than the server. Every message and every byte is accounted for on both sides, and the
// resources of the server do not grow.
//
//   npm run soak -- --minutes 30 [--connections 2000]      or --seconds
//
// The last line has the counts, one for each check.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { formatCounts } from '../../scripts/counts.mjs';
import { setup } from '../../scripts/setup.mjs';
import { compare } from './account.mjs';

const { values } = parseArgs({
  options: { minutes: { type: 'string' }, seconds: { type: 'string' }, connections: { type: 'string', default: '2000' } },
});
const seconds = values.seconds ? Number(values.seconds) : Number(values.minutes ?? 30) * 60;
const connections = Number(values.connections);
const MIB = 2 ** 20;
/** The time in which V8 and the allocator may reach their size. */
const WARM_S = Math.min(300, seconds / 2);
/** Tolerances of growth: the effect of garbage and chance in a run of that length. */
const SLACK = seconds >= 600 ? { share: 1.15, bytes: 32 * MIB } : { share: 1.5, bytes: 128 * MIB };
const SHOWN = 20;
/** Time for the work under way at the end, on a busy machine. */
const PATIENCE_MS = 600_000;
const SHOW_EVERY_S = 60;

await setup();
const samples = [];
const faults = [];
const waiting = { server: new Map(), load: new Map() };
const totals = { connections: 0, endings: {}, up: 0, upBytes: 0, down: 0, downBytes: 0, lost: 0, thrown: 0 };
let [made, shown] = [Infinity, 0];

const start = (name, args, execArgv = []) => fork(fileURLToPath(new URL(name, import.meta.url)), args, { execArgv });
const server = start('server.mjs', [], ['--expose-gc']);
const [{ ports }] = await once(server, 'message');
const begun = performance.now();
server.on('message', ({ sample, ended = [], fault }) => {
  if (fault) blame(fault);
  for (const report of ended) take('server', report);
  if (sample) keep(sample);
});
const before = await settled();
const load = start('load.mjs', [JSON.stringify(ports), String(connections)]);
load.on('message', ({ ended = [], made: count = made }) => {
  made = count;
  for (const report of ended) take('load', report);
});
const ends = [server, load].map((child) => once(child, 'exit').then(([code]) => code));

await Promise.race([delay(seconds * 1000), ...ends]);
if (load.connected) load.send('stop');
for (let waited = 0; waited < PATIENCE_MS && totals.connections < made && server.connected; waited += 100) await delay(100);
const after = server.connected ? await settled() : null;
if (server.connected) server.send('end');
const codes = await Promise.all(ends.map((end) => Promise.race([end, delay(30_000, 'not at all')])));
for (const child of [server, load]) child.kill('SIGKILL');
process.exitCode = conclude();

/** A sample behind a garbage collection. */
async function settled() {
  server.send('sample');
  for (;;) {
    const [{ sample }] = await once(server, 'message');
    if (sample?.isAsked) return sample;
  }
}

function keep(sample) {
  const at = (performance.now() - begun) / 1000;
  samples.push({ ...sample, at });
  if (at < shown) return;
  shown += SHOW_EVERY_S;
  const mib = (bytes) => `${(bytes / MIB).toFixed(0)} MiB`;
  console.log(
    `${at.toFixed(0)} s: ${sample.open} open, ${sample.opened} so far, ${totals.up + totals.down} messages; RSS ${mib(sample.rss)}, ` +
      `heap ${mib(sample.heapUsed)}, ${sample.handles} descriptors, ${mib(sample.waiting)} to send, ${mib(sample.undelivered)} undelivered; ` +
      `${faults.length} faults`,
  );
}

function blame(fault) {
  if (faults.push(fault) <= SHOWN) console.log(fault);
}

/** Both sides of a connection are compared when both have reported its end. */
function take(side, report) {
  const other = waiting[side === 'server' ? 'load' : 'server'];
  const counterpart = other.get(report.id);
  if (counterpart === undefined) {
    if (waiting[side].has(report.id)) blame(`connection ${report.id} has ended twice`);
    return void waiting[side].set(report.id, report);
  }
  other.delete(report.id);
  const [ours, theirs] = side === 'server' ? [report, counterpart] : [counterpart, report];
  compare(ours, theirs).forEach(blame);
  totals.connections++;
  const ending = `${theirs.way} ${ours.code}`;
  totals.endings[ending] = (totals.endings[ending] ?? 0) + 1;
  for (const key of ['up', 'upBytes']) totals[key] += ours[key];
  for (const key of ['down', 'downBytes', 'thrown']) totals[key] += theirs[key];
  totals.lost += theirs.up - ours.up + ours.down - theirs.down;
}

function conclude() {
  const checks = [];
  const check = (name, isMet, figures = '') => {
    checks.push(isMet);
    console.log(`${isMet ? 'ok    ' : 'FAILED'} ${name}${figures && `: ${figures}`}`);
  };
  console.log(JSON.stringify(totals));
  check('every message and byte is accounted for', faults.length === 0, `${faults.length} faults`);
  check('every connection has ended on both sides', totals.connections === made, `${totals.connections} of ${made}`);
  check('both processes ended by themselves', codes.join() === '0,0', codes.join());
  check('every callback was called, every throw caught', after?.callbacks === after?.called && after?.thrown === after?.caught,
    `${after?.called} of ${after?.callbacks}, ${after?.caught} of ${after?.thrown}`);
  for (const budget of ['open', 'waiting', 'undelivered']) check(`${budget} is 0 in the end`, after?.[budget] === 0, String(after?.[budget]));
  check('descriptors are as before', after?.handles <= before.handles, `${before.handles}, ${after?.handles}`);
  check('resources of Node are as before', after?.resources === before.resources, `${before.resources}; ${after?.resources}`);
  for (const figure of ['rss', 'heapUsed', 'external', 'handles', 'waiting', 'undelivered']) grows(figure, check);
  console.log(formatCounts({ passed: checks.filter(Boolean).length, failed: checks.filter((isMet) => !isMet).length, skipped: 0 }));
  return checks.every(Boolean) ? 0 : 1;
}

/** Compares the medians of the first and the last third of the samples after the warm-up. */
function grows(figure, check) {
  // The time at which the load was ordered to stop.
  const end = Math.min(seconds, samples.at(-1)?.at ?? 0);
  const third = (end - WARM_S) / 3;
  const median = (from, to) => {
    const seen = samples.filter(({ at }) => at >= from && at <= to).map((sample) => sample[figure]).sort((a, b) => a - b);
    return seen[seen.length >> 1] ?? 0;
  };
  const [first, last] = [median(WARM_S, WARM_S + third), median(end - third, end)];
  // As many as there are connections, and some.
  const most = figure === 'handles' ? connections + 200 : first * SLACK.share + SLACK.bytes;
  check(`${figure} does not grow`, last <= most, `${first} in the first third after ${WARM_S.toFixed(0)} s, ${last} in the last`);
}

// All clients come at once, over TLS: how long until they are open, and whether an open connection notices.
//
//   node benchmark/storm.mjs [--clients 10000] [--rounds 3] [--candidates ws,uws,reactor_tls] [--record]
//
// The load opens all connections in the same moment and resets each as soon as it is open. A canary, in this process and at a higher
// priority where that is allowed, sends a message every 5 ms on a connection of its own; the longest round trips count while the others come.
import { once } from 'node:events';
import os from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { WebSocket } from 'ws';

import { buildServers } from './build.mjs';
import { candidates } from './candidates.mjs';
import { writeOther } from './others/record.mjs';
import { canPin, raiseFileLimit, startLoad, startServer } from './server-process.mjs';
import { median } from './stats.mjs';

const PAUSE = 5;

const { values } = parseArgs({
  options: {
    clients: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '3' },
    candidates: { type: 'string', default: 'ws,uws,reactor_tls' },
    record: { type: 'boolean' },
  },
});

await buildServers(true);
const pin = canPin();
const clients = Number(values.clients);
raiseFileLimit(clients + 1000);
const all = candidates();
const names = values.candidates.split(',').filter((name) => {
  if (all[name].missing) console.error(`Without ${name}: ${all[name].missing}`);
  return !all[name].missing;
});
const isFirst = prioritize();

const runs = [];
for (const resume of [false, true]) {
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const name of names) {
      const run = await measure(name, resume).catch((error) => ({ error: String(error.message) }));
      runs.push({ name, resume, ...run });
      console.error(name, JSON.stringify(run));
    }
  }
}
print();
if (values.record) writeOther('storm', { pinned: pin, prioritized: isFirst, clients, runs });

/** @param {string} name @param {boolean} resume */
async function measure(name, resume) {
  const server = await startServer([...all[name].command, 'tls'], pin ? 0 : undefined);
  try {
    const canary = await openCanary(server.port);
    const options = { mode: 'rate', tls: true, connections: clients, messages: clients, timeout: 20, ...(pin && { pin: 1 }) };
    // Before, each client has been here, so that it has a ticket.
    const { ended } = startLoad(server, { ...options, warmup: resume ? 6 : 0, ...(resume && { resume }) });
    const report = await ended;
    const roundTrips = canary.stop(performance.now() - 1000 * report.seconds);
    return {
      p95_ms: report.p95_us / 1000,
      all_ms: 1000 * report.seconds,
      canary_p99_ms: roundTrips[Math.ceil(roundTrips.length * 0.99) - 1],
      canary_max_ms: roundTrips.at(-1),
      cpu_us: report.cpu_ns_per_handshake / 1000,
      resumed: report.resumed ?? 0,
    };
  } finally {
    await server.stop('SIGKILL');
  }
}

/** @param {number} port */
async function openCanary(port) {
  const ws = new WebSocket(`wss://127.0.0.1:${port}`, { rejectUnauthorized: false });
  await once(ws, 'open');
  /** @type {Array<{ at: number, took: number }>} */
  const all = [];
  let isOver = false;
  const row = (async () => {
    while (!isOver) {
      const at = performance.now();
      const answered = once(ws, 'message');
      ws.send('canary');
      await answered;
      all.push({ at, took: performance.now() - at });
      await sleep(PAUSE);
    }
    ws.terminate();
  })();
  row.catch(() => {});
  return {
    /** Milliseconds of the round trips since a moment, the shortest first. @param {number} from */
    stop(from) {
      isOver = true;
      return all.filter(({ at, took }) => at + took >= from).map(({ took }) => took).sort((a, b) => a - b);
    },
  };
}

/** So that the canary does not wait for the load. */
function prioritize() {
  try {
    os.setPriority(0, -20);
    return true;
  } catch {
    console.error('The canary has no priority over the load: its round trips are longer than they would be');
    return false;
  }
}

function print() {
  console.log(`\n${clients.toLocaleString('en')} clients at once, TLS 1.3, medians of ${values.rounds}:\n`);
  console.log('| | until 95 % are open, ms | all, ms | CPU per handshake, us | canary, p99, ms | at most, ms |\n|---|---:|---:|---:|---:|---:|');
  for (const resume of [false, true]) {
    for (const name of names) {
      const own = runs.filter((run) => run.name === name && run.resume === resume && run.error === undefined);
      if (own.length === 0) {
        // Its queue has dropped some, which try again for minutes.
        console.log(`| ${all[name].text}${resume ? ', resumed' : ''} | not all are open after 20 s without progress |`);
        continue;
      }
      const of = (/** @type {string} */ key) => median(own.map((run) => run[key])).toFixed(key === 'all_ms' || key === 'p95_ms' ? 0 : 1);
      const share = resume ? `, ${Math.round((100 * median(own.map((run) => run.resumed))) / clients)} % resumed` : '';
      console.log(`| ${all[name].text}${share} | ${of('p95_ms')} | ${of('all_ms')} | ${of('cpu_us')} | ${of('canary_p99_ms')} | ${of('canary_max_ms')} |`);
    }
  }
}

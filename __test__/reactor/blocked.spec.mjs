// A JavaScript thread that is blocked or does not keep up: pings are answered unless the reactor
// runs on that thread, memory is bounded, nothing is lost.
import { once } from 'node:events';
import net from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

import { Child, MEASURED, isInline, ownSerial, upgradeRequest } from '../helpers/index.mjs';
import { Pinger } from '../helpers/pinger.mjs';

/** The least time of a block in milliseconds: it lasts until the expected events have happened. */
const BLOCKED_MS = 1500;
const PONGS = 20;
const MIB = 2 ** 20;
/** Bytes that unfinished messages may take in `blockable.mjs`. */
const UNFINISHED = 64 * MIB;
/**
 * Bytes that may wait for JavaScript: 64 MiB of all connections together, 16 KiB of each beyond
 * that; and unfinished messages.
 */
const bound = (connections) => 64 * MIB + connections * 16 * 1024 + UNFINISHED;
/** Sockets, batches, and memory that the allocator keeps: measured as 5 to 15 MiB. */
const OVERHEAD = 32 * MIB;

async function startBlockable(t, options = {}) {
  const server = new Child(t, 'blockable.mjs', [JSON.stringify(options)], { ...MEASURED, stdio: ['pipe', 'pipe', 'pipe', 'pipe'] });
  return { server, port: await server.line(0) };
}

/** Blocks the server while `meanwhile` runs; returns its growth, and the faults of messages. */
async function block(server, meanwhile) {
  server.process.stdin.write('\n');
  await server.line(1);
  await Promise.all([delay(BLOCKED_MS), meanwhile()]);
  server.process.stdio[3].write('.');
  return JSON.parse(await server.line(2));
}

/** Ends the server, which must have found no fault. */
async function endBlockable(t, server, line, received) {
  server.process.stdin.end();
  const { code, stderr } = await server.ended();
  t.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  t.deepEqual(JSON.parse(await server.line(line)), { received, wrong: [] });
}

/** Floods a blocked server. */
function blocked(title, { connections, messages, bytes }) {
  // R11.
  ownSerial(`blocked while ${title}: pings are answered, memory is bounded, all arrives`, async (t) => {
    const { server, port } = await startBlockable(t);
    const pingers = await Promise.all([false, false, true, true].map((busy) => Pinger.connect(t, port, busy)));
    const flood = new Child(t, 'flood.mjs', [port, '/', connections, messages, bytes]);
    await flood.line(0);

    let pinging;
    t.teardown(() => clearInterval(pinging));
    const { grown, wrong } = await block(server, async () => {
      // Not before: behind a message that waits, there is room for some 50 pings.
      pinging = setInterval(() => pingers.forEach((pinger) => pinger.ping()), 10);
      // A pong that was on its way does not count.
      const answered = (pinger, most) => pinger.until(() => pinger.times.length > most);
      if (!isInline) await Promise.all(pingers.map((pinger) => answered(pinger, pinger.times.length + PONGS)));
    });
    clearInterval(pinging);
    t.deepEqual(wrong, []);
    t.true(grown < bound(connections) + OVERHEAD, `${grown / MIB} MiB`);
    t.like(await flood.ended(), { code: 0, stderr: '' });
    await Promise.all(pingers.slice(2).map((pinger) => pinger.until(() => pinger.echoes > 0)));
    t.true(pingers.slice(0, 2).every(({ echoes }) => echoes === 0));
    await endBlockable(t, server, 3, connections * messages);
    if (isInline) return;
    const all = pingers.flatMap(({ times }) => times).sort((a, b) => a - b);
    const [median, most] = [all[all.length >> 1], all.at(-1)].map((time) => time.toFixed(1));
    t.log(`${(grown / MIB).toFixed(0)} MiB more, ${all.length} pongs after ${median} ms, at most ${most} ms`);
  });
}

blocked('100 connections flood', { connections: 100, messages: 4000, bytes: 1024 });
blocked('800 connections flood', { connections: 800, messages: 400, bytes: 1024 });
blocked('large messages come in', { connections: 60, messages: 6, bytes: MIB });
blocked('middling messages come in', { connections: 100, messages: 20, bytes: 200_000 });
blocked('tiny messages flood', { connections: 50, messages: 20_000, bytes: 8 });

// R11.
// Each client leaves when it is answered or, where the answer waits for JavaScript, when its
// request is on its way.
for (const earlyHandshake of [true, false]) {
  const title = earlyHandshake ? 'are answered and go' : 'come and go';
  ownSerial(`blocked while connections ${title}: memory is bounded`, async (t) => {
    const { server, port } = await startBlockable(t, { earlyHandshake });
    const request = upgradeRequest({ extra: `X: ${'x'.repeat(12_000)}\r\n` });
    let isBlocked = true;
    let came = 0;
    let enough;
    const many = new Promise((resolve) => (enough = resolve));
    const come = async () => {
      while (isBlocked) {
        const socket = net.connect({ port, host: '127.0.0.1' }).on('error', () => {});
        const written = new Promise((resolve) => socket.write(request, resolve));
        const answer = (earlyHandshake ? once(socket, 'data') : written).then(() => ++came > 100 && enough());
        await Promise.race([answer, unblocked]);
        socket.destroy();
      }
    };
    let lanes;
    const unblocked = block(server, () => {
      lanes = Array.from({ length: 50 }, come);
      return isInline ? null : many;
    }).finally(() => (isBlocked = false));
    const { grown } = await unblocked;
    await Promise.all(lanes);
    t.true(grown < bound(50) + OVERHEAD, `${grown / MIB} MiB after ${came} connections`);
    t.log(`${(grown / MIB).toFixed(0)} MiB more, ${came} connections`);
    await endBlockable(t, server, 3, 0);
  });
}

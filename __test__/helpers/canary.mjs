// A client that sends little to a server under attack, and measures how long its answers take.
import { once } from 'node:events';
import net from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

import { Child } from './child.mjs';
import { wsClient } from './clients.mjs';
import { expectTls } from './secure-ports.mjs';

/** The server of `attacked.mjs`, and what it reports. */
export class Attacked {
  #child;
  #asked = 0;

  static async start(t, work = 0, options = {}, child = {}) {
    const attacked = new Attacked();
    attacked.#child = new Child(t, 'attacked.mjs', [work, JSON.stringify(options)], { ...child, stdio: ['pipe', 'pipe', 'pipe'] });
    attacked.port = Number(await attacked.#child.line(0));
    if (process.env.ATTACK_TLS === '1') expectTls(t, attacked.port);
    return attacked;
  }

  async report() {
    this.#child.process.stdin.write('\n');
    return JSON.parse(await this.#child.line(++this.#asked));
  }

  /** The resources and work of the server per second, over the given milliseconds. */
  async rates(milliseconds) {
    const [before, begun] = [await this.report(), performance.now()];
    await delay(milliseconds);
    const [after, seconds] = [await this.report(), (performance.now() - begun) / 1000];
    return { cpu: (after.cpu - before.cpu) / seconds, messages: (after.messages - before.messages) / seconds };
  }
}

/** An attacker of `attacker.mjs` at work. */
export async function attack(t, port, ...args) {
  const child = new Child(t, 'attacker.mjs', [port, ...args]);
  // An attacker is also at work if its first bytes are not taken.
  const begun = new AbortController();
  const late = delay(60_000, undefined, { signal: begun.signal }).catch(() => {});
  await Promise.race([child.line(0), late]);
  // A timer that runs on keeps the test's process for its 20 s.
  begun.abort();
  return child;
}

async function open(port) {
  const ws = new wsClient(`${process.env.ATTACK_TLS === '1' ? 'wss' : 'ws'}://127.0.0.1:${port}/ask`, { perMessageDeflate: false, rejectUnauthorized: false });
  ws.on('error', () => {});
  await Promise.race([once(ws, 'open'), once(ws, 'close').then(() => Promise.reject(new Error('closed')))]);
  return ws;
}

/** Milliseconds until `ask` is through, Infinity if it is not within `patience` or fails. */
async function timed(patience, ask) {
  const begun = performance.now();
  const ended = new AbortController();
  const late = delay(patience, Infinity, { signal: ended.signal }).catch(() => Infinity);
  const asked = ask().then(() => performance.now() - begun, () => Infinity);
  const took = await Promise.race([asked, late]);
  ended.abort();
  return took;
}

async function answer(ws, payload) {
  ws.send(payload);
  await once(ws, 'message');
}

/** Does `step` every `interval` ms, `times` times, also while earlier ones are under way. */
async function every(interval, times, step) {
  const all = [];
  for (let i = 0; i < times; i++) {
    all.push(step());
    await delay(interval);
  }
  return (await Promise.all(all)).sort((a, b) => a - b);
}

/** The milliseconds that each newcomer needed to connect and be answered. */
export function newcomers(t, port, { times, interval, patience, bytes = 1 }) {
  return every(interval, times, () =>
    timed(patience, async () => {
      const ws = await open(port);
      await answer(ws, Buffer.alloc(bytes));
      ws.terminate();
    }),
  );
}

/** The milliseconds that each message needed, of a connection that says nothing else. */
export async function echoes(t, port, { times, interval, patience }) {
  const ws = await open(port);
  t.teardown(() => ws.terminate());
  const all = [];
  for (let i = 0; i < times; i++) {
    const took = await timed(patience, () => answer(ws, 'x'));
    all.push(took);
    if (took === Infinity) break;
    await delay(interval);
  }
  return all.sort((a, b) => a - b);
}

/** Whether a connection is taken at all. */
export async function connects(port) {
  const socket = net.connect({ port, host: '127.0.0.1' });
  await once(socket, 'connect');
  socket.destroy();
}

export const figures = (times) => {
  const at = (part) => times[Math.min(times.length - 1, Math.floor(times.length * part))];
  const served = times.filter((time) => time !== Infinity).length;
  return `${served} of ${times.length}, p50 ${at(0.5).toFixed(1)} ms, p99 ${at(0.99).toFixed(1)} ms`;
};

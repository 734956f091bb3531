// The common part of the tests of the order between connections.
import { readFileSync, readdirSync } from 'node:fs';

import { urlOf } from './clients.mjs';
import { isInline, isReference, startServer } from './impl.mjs';
import { startServerBehind } from './ways.mjs';

export const ROUNDS = 100;
/**
 * The number of rounds in which the order may be lost: a reactor's thread may lose its processor
 * between the system's report and the turn that it begins. Without such a thread the order is
 * always kept.
 */
export const FEW = isReference || isInline ? 0 : 3;

/** Milliseconds in which a reactor is done, if it has a processor. */
const MOMENT = 0.5;

export const SERVERS = { port: startServer, server: startServerBehind };

/** A server with the events that it has had. */
export async function listening(t, start) {
  const server = await start(t);
  const heard = { connections: 0, closes: 0 };
  server.on('connection', (ws) => {
    heard.connections++;
    ws.on('close', () => heard.closes++);
  });
  return { server, heard, url: urlOf(server) };
}

/**
 * The rounds in which the order was not kept, in the best of some tries. A round is played again in
 * which JavaScript has given up waiting for a reactor, and says so in its metrics, or a thread has
 * waited for a processor for a moment.
 */
export async function missed(t, server, round) {
  let least = Infinity;
  for (let tries = 0; tries < 5 && least > FEW; tries++) least = Math.min(least, await missedOnce(t, server, round));
  return least;
}

async function missedOnce(t, server, round) {
  const unsettled = () => (isReference ? 0 : (server.metrics().reactors?.unsettled ?? 0));
  const begin = { time: performance.now(), delay: runDelay() };
  let [misses, rounds, given] = [0, 0, 0];
  while (rounds < ROUNDS && given < 4 * ROUNDS) {
    const before = { unsettled: unsettled(), delay: runDelay() };
    const isMissed = await round();
    if (isMissed && (unsettled() !== before.unsettled || runDelay() - before.delay > MOMENT)) {
      given++;
    } else {
      rounds++;
      misses += Number(isMissed);
    }
  }
  if (rounds === ROUNDS) return misses;
  // Where no other process has the processors, the reactors do not keep JavaScript waiting.
  const share = (runDelay() - begin.delay) / (performance.now() - begin.time);
  t.log(`${given} rounds were given up, ${rounds} counted, with ${share.toFixed(2)} of the time without a processor`);
  return share <= 0.05 ? ROUNDS : misses;
}

/** Milliseconds for which threads of this process could run and had no processor, or NaN. */
function runDelay() {
  if (process.platform !== 'linux') return NaN;
  let nanoseconds = 0;
  for (const thread of readdirSync('/proc/self/task')) {
    try {
      nanoseconds += Number(readFileSync(`/proc/self/task/${thread}/schedstat`, 'utf8').split(' ')[1]);
    } catch {
      // The thread has ended.
    }
  }
  return nanoseconds / 1e6;
}

// The common part of the tests of the order between connections.
import { urlOf } from './clients.mjs';
import { isInline, isReference, startServer } from './impl.mjs';
import { startServerBehind } from './ways.mjs';

export const ROUNDS = 100;
/**
 * The number of rounds in which the order may be lost where a reactor gets no processor in time.
 * Without a reactor's thread the order is always kept.
 */
export const FEW = isReference || isInline ? 0 : 3;

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
 * The rounds in which the order was not kept, in the best of some tries: a reactor's thread may
 * have had no processor for longer than JavaScript waits for it.
 */
export async function missed(round) {
  let least = Infinity;
  for (let tries = 0; tries < 5 && least > FEW; tries++) {
    let misses = 0;
    for (let i = 0; i < ROUNDS; i++) misses += Number(await round());
    least = Math.min(least, misses);
  }
  return least;
}

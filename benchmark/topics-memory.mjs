// Bytes of memory per subscription and per topic: 1,000 connections with 1,000 subscriptions each,
// to the same topics and to others.
//
//   node benchmark/topics-memory.mjs [--candidates reactor,uws]
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import WebSocket from 'ws';
import { topicCandidates } from './candidates.mjs';
import { startServer } from './server-process.mjs';

const CONNECTIONS = 1000;
const TOPICS = 1000;

const { values } = parseArgs({ options: { candidates: { type: 'string', default: 'ws,uws,reactor,reactor_inline' } } });

for (const name of values.candidates.split(',')) {
  const { text, missing } = topicCandidates()[name];
  if (missing) {
    console.error(`Without ${name} (${missing})`);
    continue;
  }
  const shared = await measure(name, () => 'shared');
  const own = await measure(name, (number) => `own-${number}`);
  const [subscription, topic] = [shared, own - shared].map((bytes) => Math.round(bytes / (CONNECTIONS * TOPICS)));
  console.log(`${text}: ${subscription} B per subscription, ${topic} B per topic`);
}

/**
 * @param {string} name
 * @param {(number: number) => string} prefix The beginning of the names of a connection's topics
 * @returns {Promise<number>} Bytes that the subscriptions take
 */
async function measure(name, prefix) {
  const { command: [node, ...rest], options } = topicCandidates()[name];
  const server = await startServer([node, '--expose-gc', ...rest, 'memory'], undefined, options);
  try {
    const clients = [];
    for (let number = 0; number < CONNECTIONS; number++) {
      const client = new WebSocket(`ws://127.0.0.1:${server.port}/?room=all`, { perMessageDeflate: false });
      await once(client, 'open');
      clients.push(client);
    }
    await ask(clients[0], 'gc 0');
    const before = resident(server.pid);
    for (const [number, client] of clients.entries()) await ask(client, `${prefix(number)} ${TOPICS}`);
    await ask(clients[0], 'gc 0');
    const after = resident(server.pid);
    for (const client of clients) client.terminate();
    return after - before;
  } finally {
    await server.stop();
  }
}

/**
 * @param {WebSocket} client
 * @param {string} what A prefix and the number of topics
 */
async function ask(client, what) {
  client.send(what);
  await once(client, 'message');
}

/**
 * @param {number} pid
 */
function resident(pid) {
  const [, kib] = /^Rss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1')) ?? [];
  return Number(kib) * 1024;
}

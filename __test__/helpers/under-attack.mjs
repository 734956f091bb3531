// A server under attack, by any way in, and another client of it that is served meanwhile.
import { once } from 'node:events';

import { askRaw, connect, openVisitor } from './clients.mjs';
import { upgradeRequest } from './raw-client.mjs';
import { WAYS } from './ways.mjs';

/** Milliseconds for an answer to the canary: many, as other programs may use the machine. */
const PATIENCE = 180_000;

/** Listens, with a canary that sends all the time until the attack is over, and is answered. */
export async function attacked(t, way, options, attack) {
  const server = await WAYS[way](t, options);
  server.on('connection', (ws, { url }) => {
    ws.on('error', () => {});
    ws.on('message', (data, isBinary) => url !== '/sink' && ws.send(data, { binary: isBinary }));
  });
  const port = (server.address() ?? server._server.address()).port;
  const isAlive = await canary(t, port);
  await attack({ server, port, way });
  await isAlive();
}

/** A client that sends and is answered; the function that it returns ends that. */
export async function canary(t, port) {
  return singing(t, await openVisitor(t, `ws://127.0.0.1:${port}/canary`, { perMessageDeflate: false }));
}

/** The same with a client that is open. */
export function singing(t, client) {
  let [isOver, echoes, worst] = [false, 0, 0];
  const song = (async () => {
    do {
      const begun = performance.now();
      const answer = once(client, 'message', { signal: AbortSignal.timeout(PATIENCE) });
      client.send(String(echoes));
      t.is(String((await answer)[0]), String(echoes));
      worst = Math.max(worst, performance.now() - begun);
      echoes++;
      await new Promise((resolve) => setTimeout(resolve, 5));
    } while (!isOver);
  })();
  // Looked at when the attack is over.
  song.catch(() => {});
  return async () => {
    isOver = true;
    await song;
    t.log(`canary: ${echoes} echoes, the longest ${worst.toFixed(0)} ms`);
    client.terminate();
  };
}

/** A raw client whose upgrade is answered, and whose messages are not. */
export async function opened(t, port, fields = {}) {
  const raw = await askRaw(t, port, upgradeRequest({ line: 'GET /sink HTTP/1.1', ...fields }));
  await raw.until((text) => text.includes('\r\n\r\n'));
  return raw;
}

/** The same with its `ws` of the server. */
export async function openedPair(t, { server, port }) {
  const [[ws], raw] = await Promise.all([once(server, 'connection'), opened(t, port)]);
  return { ws, raw };
}

/** Both ends of a connection whose messages are not answered. */
export function pair(t, server, options = {}) {
  return connect(t, server, { path: '/sink', perMessageDeflate: false, ...options });
}

/** Tests by row and title, each on every way in. `test` is that of ava. */
export function onEveryWay(test, rows, options = () => ({})) {
  for (const way of Object.keys(WAYS)) {
    for (const [name, act] of Object.entries(rows)) {
      const [row, title] = name.split(': ');
      test(`${row} ${way}: ${title}`, (t) => attacked(t, way, options(row), (at) => act(t, at)));
    }
  }
}

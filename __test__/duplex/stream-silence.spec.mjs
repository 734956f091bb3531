// pingInterval and idleTimeout of connections that the reactor does not serve; for the reactor's
// own connections the same table is in src/reactor/tests/connection/silence.rs.
import { once } from 'node:events';
import https from 'node:https';
import { createRequire } from 'node:module';

import test from 'ava';

import { cert, key } from '../helpers/certificate.mjs';
import { Child } from '../helpers/child.mjs';
import { implementation, isReference } from '../helpers/impl.mjs';
import { RawClient, upgradeRequest } from '../helpers/raw-client.mjs';
import { closeOf, rawPair, tlsPair } from '../helpers/streams.mjs';

const wsClient = createRequire(import.meta.url)('ws');
const ownOnly = isReference ? test.skip : test;

const PING = '8900';
const PONG = Buffer.from([0x8a, 0x80, 0, 0, 0, 0]);
const TEXT = Buffer.from([0x81, 0x81, 0, 0, 0, 0, 0x61]);

/** The reaction of the peer to a ping, the options, and the number of pings before the end. */
const ENDS = [
  ['no answer to a ping', { pingInterval: 30 }, 1],
  ['no byte', { idleTimeout: 30 }, 0],
  ['both, the ping first', { pingInterval: 30, idleTimeout: 50 }, 1],
  ['both, the end first', { pingInterval: 50, idleTimeout: 30 }, 0],
  ['both, together', { pingInterval: 30, idleTimeout: 30 }, 0],
];

for (const [title, options, pings] of ENDS) {
  ownOnly(`silence ends the connection: ${title}`, async (t) => {
    watchStalls(t);
    const { ws, near, far } = rawPair(options);
    far.resume();
    t.deepEqual(await closeOf(ws), [1006, Buffer.alloc(0)]);
    t.is(Buffer.concat(near.written).toString('hex'), PING.repeat(pings));
  });

  ownOnly(`TLS: silence ends the connection: ${title}`, async (t) => {
    const { ws, far } = await tlsPair(t, options);
    let count = 0;
    far.removeAllListeners('data');
    far.on('data', (bytes) => (count += bytes.length / 2));
    t.is((await closeOf(ws))[0], 1006);
    t.true(count <= pings, `${count} pings`);
  });
}

/** A silent connection to a process in which nothing else happens. */
async function silent(t, way, options) {
  const child = new Child(t, 'stopped.mjs', [way, JSON.stringify(options)]);
  const port = Number(await child.line());
  return async () => {
    const raw = await RawClient.connect(t, port);
    await raw.send(upgradeRequest());
    await raw.closed();
  };
}

for (const options of [{ idleTimeout: 30 }, { pingInterval: 30 }]) {
  ownOnly(`silence ends a connection where nothing else happens: ${Object.keys(options)}`, async (t) => {
    const [ends, canary] = await Promise.all([silent(t, 'stream', options), silent(t, 'port', options)]);
    let isOver = false;
    const over = ends().then(() => (isOver = true));
    for (let round = 0; round < 50 && !isOver; round++) await canary();
    t.true(isOver);
    await over;
  });
}

/**
 * How long the event loop has stood still since, at most, in milliseconds; it keeps the
 * process alive, which a pipe does not.
 */
function watchStalls(t) {
  let [last, longest] = [performance.now(), 0];
  const look = () => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
    return longest;
  };
  const timer = setInterval(look, 20);
  t.teardown(() => clearInterval(timer));
  return look;
}

ownOnly('a peer that answers pings stays', async (t) => {
  const longestStall = watchStalls(t);
  const { ws, far } = rawPair({ pingInterval: 400 });
  let pings = 0;
  await new Promise((resolve) => {
    ws.once('close', resolve);
    far.on('data', () => {
      far.write(PONG);
      if (++pings === 3) resolve();
    });
  });
  // On a machine that stood still the peer was silent.
  if (longestStall() > 200) t.log(`${longestStall()} ms without a turn`);
  else t.is(ws.readyState, ws.OPEN);
  far.destroy();
  t.pass();
});

ownOnly('a peer that says anything stays, and is not pinged', async (t) => {
  const longestStall = watchStalls(t);
  const { ws, near, far } = rawPair({ pingInterval: 2000, idleTimeout: 1000 });
  far.resume();
  const began = performance.now();
  // Together longer than a second, which each message begins anew.
  while (performance.now() - began < 1300) {
    far.write(TEXT);
    await once(ws, 'message');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  // On a machine that stood still the peer was silent.
  if (longestStall() > 500) t.log(`${longestStall()} ms without a turn`);
  else t.is(ws.readyState, ws.OPEN);
  t.deepEqual(near.written, []);
  far.destroy();
  await closeOf(ws);
});

ownOnly('whoever is not read is not called silent, until he is', async (t) => {
  watchStalls(t);
  const { ws, far } = rawPair({ idleTimeout: 20 });
  ws.pause();
  await new Promise((resolve) => setTimeout(resolve, 100));
  t.is(ws.readyState, ws.OPEN);
  const closed = closeOf(ws);
  ws.resume();
  t.is((await closed)[0], 1006);
  far.destroy();
});

ownOnly('the options are those of a server', async (t) => {
  const { ws, far } = rawPair({ isServer: false, idleTimeout: 10, pingInterval: 10 });
  await new Promise((resolve) => setTimeout(resolve, 60));
  t.is(ws.readyState, ws.OPEN);
  far.destroy();
  await closeOf(ws);
});

ownOnly('https: the options of the server', async (t) => {
  const server = https.createServer({ cert, key });
  const wss = new implementation.WebSocketServer({ server, pingInterval: 30 });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    wss.close();
    server.close();
  });
  const opening = once(wss, 'connection');
  const client = new wsClient(`wss://127.0.0.1:${server.address().port}`, { ca: cert, servername: 'localhost', autoPong: false });
  t.teardown(() => client.terminate());
  const pinged = once(client, 'ping');
  const [ws] = await opening;
  t.is((await closeOf(ws))[0], 1006);
  await pinged;
});

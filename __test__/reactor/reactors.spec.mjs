// Several reactors: connections are spread over them, and no client sees a difference. All other
// behaviour that does not depend on their number is tested by all the other files with
// REACTOR_WS_REACTORS=3.
import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
import net from 'node:net';

import test from 'ava';

import { connect, nextEvents, urlOf, wsClient } from '../helpers/clients.mjs';
import { open, start } from '../helpers/http.mjs';
import { WebSocketServer, isReference, startServer } from '../helpers/impl.mjs';
import { OWN_HOST } from '../helpers/own-host.mjs';
import { RawClient, upgradeRequest } from '../helpers/raw-client.mjs';

const REACTORS = 3;
const CONNECTIONS = 2 * REACTORS + 1;

const ownOnly = isReference ? test.skip : test;
const linuxOnly = isReference || process.platform !== 'linux' ? test.skip : test;

async function startMany(t, options) {
  const server = await startServer(t, { reactors: REACTORS, ...options });
  const pairs = [];
  while (pairs.length < CONNECTIONS) pairs.push(await connect(t, server));
  return { server, pairs };
}

// R10.
linuxOnly('each has a thread', async (t) => {
  // A reactor that serves has begun to run, and has its name.
  await startMany(t);
  const names = readdirSync('/proc/self/task').map((id) => readFileSync(`/proc/self/task/${id}/comm`, 'utf8').trim());
  t.is(names.filter((name) => name === 'reactor-ws').length, REACTORS);
});

ownOnly('order is exact for each connection, in both directions', async (t) => {
  const { pairs } = await startMany(t);
  const total = 500;
  await Promise.all(
    pairs.map(async ({ ws, client }) => {
      ws.on('message', (data, isBinary) => ws.send(data, { binary: isBinary }));
      const echoes = nextEvents(client, 'message', total);
      for (let i = 0; i < total; i++) client.send(i % 50 === 0 ? `${i} ${'x'.repeat(20_000)}` : `${i} `);
      t.deepEqual(
        (await echoes).map(([data]) => parseInt(data, 10)),
        Array.from({ length: total }, (_, i) => i),
      );
    }),
  );
});

ownOnly('what one turn sends to all arrives once at each, large payloads and callbacks with it', async (t) => {
  const { pairs } = await startMany(t);
  const large = Buffer.alloc(200_000, 'l');
  const got = pairs.map(({ client }) => nextEvents(client, 'message', 3));
  const called = pairs.map(
    ({ ws }, i) =>
      new Promise((resolve) => {
        ws.send(`first ${i}`);
        ws.send(Buffer.concat([large, Buffer.from([i])]));
        ws.send('last', resolve);
      }),
  );
  for (const error of await Promise.all(called)) t.falsy(error);
  for (const [i, events] of (await Promise.all(got)).entries()) {
    t.is(String(events[0][0]), `first ${i}`);
    t.true(events[1][0].equals(Buffer.concat([large, Buffer.from([i])])));
    t.is(String(events[2][0]), 'last');
  }
  for (const { ws } of pairs) t.is(ws.bufferedAmount, 0);
});

ownOnly('a server closes on all of them, and its port is free then', async (t) => {
  const { server, pairs } = await startMany(t, { host: OWN_HOST });
  const { port } = server.address();
  const silent = await RawClient.connect(t, port, OWN_HOST);
  const closed = once(server, 'close');
  let done = false;
  closed.then(() => (done = true));
  server.close();
  await silent.closed();
  const { ws, client } = pairs[0];
  client.send('open as before');
  t.is(String((await once(ws, 'message'))[0]), 'open as before');
  t.false(done);
  const next = new WebSocketServer({ port, host: OWN_HOST });
  t.teardown(() => next.close());
  await once(next, 'listening');
  const ends = pairs.map((pair) => once(pair.client, 'close'));
  for (const pair of pairs) pair.ws.close(4001);
  for (const [code] of await Promise.all(ends)) t.is(code, 4001);
  await closed;
});

// J17.
ownOnly('a port that is taken is taken', async (t) => {
  const server = await startServer(t, { reactors: REACTORS });
  const again = new WebSocketServer({ port: server.address().port, host: '127.0.0.1' });
  t.is((await once(again, 'error'))[0].code, 'EADDRINUSE');
});

ownOnly('hooks see the handshakes of all', async (t) => {
  const seen = [];
  const verifyClient = ({ req }) => {
    seen.push(req.url);
    return !req.url.includes('no');
  };
  const server = await startServer(t, { reactors: REACTORS, verifyClient });
  for (let i = 0; i < CONNECTIONS; i++) await connect(t, server, { path: `/${i}` });
  const refused = new wsClient(`${urlOf(server)}/no`);
  t.regex((await once(refused, 'error'))[0].message, /401/);
  t.deepEqual(seen, [...Array.from({ length: CONNECTIONS }, (_, i) => `/${i}`), '/no']);
});

ownOnly('adopted sockets are spread too', async (t) => {
  await startServer(t, { reactors: REACTORS });
  const { server, wss } = await start(t);
  wss.on('connection', (ws) => ws.on('message', (data) => ws.send(data)));
  for (let round = 0; round < 2; round++) {
    const clients = Array.from({ length: CONNECTIONS }, () => open(t, server));
    await Promise.all(
      clients.map(async (client, i) => {
        await once(client, 'open');
        client.send(`adopted ${i}`);
        t.is(String((await once(client, 'message'))[0]), `adopted ${i}`);
        client.close();
        await once(client, 'close');
      }),
    );
  }
});

// H21.
ownOnly('connections that come and go all the time are served to the last', async (t) => {
  const server = await startServer(t, { reactors: REACTORS });
  server.on('connection', (ws) => ws.on('message', (data) => ws.send(data)));
  const request = upgradeRequest();
  const lane = async () => {
    for (let i = 0; i < 40; i++) {
      const socket = net.connect(server.address().port, '127.0.0.1');
      t.teardown(() => socket.destroy());
      socket.write(request);
      const [answer] = await once(socket, 'data');
      t.true(answer.toString('latin1').startsWith('HTTP/1.1 101'));
      if (i % 2 === 0) socket.resetAndDestroy();
      else socket.end();
    }
  };
  await Promise.all(Array.from({ length: 8 }, lane));
  const { ws, client } = await connect(t, server);
  const closed = once(ws, 'close');
  client.close();
  await closed;
});

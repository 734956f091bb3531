// The ways in beside a port of our own: an HTTP server of Node, and upgrades handed over.
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import http from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';

import { RawClient, WebSocketServer, askRaw, frame, frames, nextEvents, ownOnly, test, upgradeRequest } from '../helpers/index.mjs';
import { NO_PAGE, connections, get, open, openPair, start, startHttp } from '../helpers/http.mjs';

test('requests and upgrades of one HTTP server, also through one keep-alive agent', async (t) => {
  const { server, wss } = await start(t);
  wss.on('connection', (ws) => ws.on('message', (data, isBinary) => ws.send(data, { binary: isBinary })));
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => agent.destroy());
  t.deepEqual(await get(server, '/', { agent }), { statusCode: 200, body: 'home' });
  const client = open(t, server, '/', { agent });
  await once(client, 'open');
  client.send('hello');
  const [data] = await once(client, 'message');
  t.is(data.toString(), 'hello');
  t.deepEqual(await get(server, '/x', { agent: new http.Agent() }), NO_PAGE);
});

test('the noServer way, after an await, loses no byte: a message of 1 MiB sent with the request', async (t) => {
  const server = await startHttp(t);
  const wss = new WebSocketServer({ noServer: true });
  const big = Buffer.alloc(1 << 20, 'x');
  const done = new Promise((resolve) => {
    server.on('upgrade', async (request, socket, head) => {
      for (let i = 0; i < 20; i++) await turn();
      wss.handleUpgrade(request, socket, head, (ws, upgraded) => {
        t.is(upgraded, request);
        ws.once('message', (data) => resolve([ws, data]));
      });
    });
  });
  const raw = await RawClient.connect(t, server.address().port);
  const header = Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0]);
  raw.send(Buffer.concat([Buffer.from(upgradeRequest()), header, big]));
  const [ws, data] = await done;
  t.true(data.equals(big));
  ws.close();
  t.is(await frames(raw, 2), '8800');
});

// H17, J18.
test('a head of any length given to handleUpgrade comes before what the socket has', async (t) => {
  const server = await startHttp(t);
  const wss = new WebSocketServer({ noServer: true });
  const head = Buffer.concat(Array.from({ length: 70_000 }, (_, i) => frame(1, `message ${i}`)));
  t.true(head.length > 1 << 20);
  const done = new Promise((resolve) => {
    server.on('upgrade', (request, socket, rest) => {
      wss.handleUpgrade(request, socket, Buffer.concat([head, rest]), (ws) => {
        resolve(nextEvents(ws, 'message', 70_002));
      });
    });
  });
  const raw = await askRaw(t, server.address().port, upgradeRequest() + frame(1, 'message 70000').toString('latin1'));
  raw.send(frame(1, 'message 70001'));
  const messages = await done;
  t.true(messages.every(([data], i) => data.toString() === `message ${i}`));
});

// In ws each server refuses requests for another one: it writes the refusal between the frames.
ownOnly('several WebSocketServers of one HTTP server, each for its path, and one is closed', async (t) => {
  const server = await startHttp(t);
  const [a, b] = ['/a', '/b'].map((path) => new WebSocketServer({ server, path }));
  for (const wss of [a, b]) wss.on('connection', (ws) => ws.send(wss.options.path));
  const greeting = async (path) => String((await once(open(t, server, path), 'message'))[0]);
  const refused = async (path) => {
    const raw = await askRaw(t, server.address().port, upgradeRequest({ line: `GET ${path} HTTP/1.1` }));
    t.true((await raw.closed()).startsWith('HTTP/1.1 400 '), path);
  };
  t.is(await greeting('/a?x'), '/a');
  t.is(await greeting('/b'), '/b');
  await refused('/c');
  a.close();
  t.is(await greeting('/b'), '/b');
  await refused('/a');
});

test('close() without clients, or without knowing them, is done in the next tick', async (t) => {
  for (const options of [{}, { clientTracking: false }]) {
    const { wss } = await openPair(t, { ...options });
    for (const ws of wss.clients ?? []) ws.terminate();
    while (wss.clients?.size) await turn();
    const order = [];
    wss.close(() => order.push('close'));
    process.nextTick(() => order.push('tick'));
    await turn();
    t.deepEqual(order, ['close', 'tick']);
  }
});

test('the HTTP server counts upgraded sockets, and close() of it waits for them', async (t) => {
  const { client, server, ws } = await openPair(t);
  t.is(await connections(server), 1);
  let closed = false;
  server.close(() => {
    closed = true;
  });
  await turn();
  t.false(closed);
  ws.send('still');
  t.is((await once(client, 'message'))[0].toString(), 'still');
  client.close();
  await once(server, 'close');
  t.is(await connections(server), 0);
});

// J18.
test('sockets that are in use otherwise: somebody reads them, or has written what has not left', async (t) => {
  const { server, wss } = await start(t);
  let bytes = 0;
  server.prependListener('upgrade', (_request, socket) => {
    socket.on('data', (chunk) => {
      bytes += chunk.length;
    });
  });
  const client = open(t, server);
  const [[ws]] = await Promise.all([once(wss, 'connection'), once(client, 'open')]);
  client.send('12345');
  t.is((await once(ws, 'message'))[0].toString(), '12345');
  t.is(bytes, 11);
  ws.send('back');
  t.is((await once(client, 'message'))[0].toString(), 'back');
  client.close(1000);
  t.is((await once(ws, 'close'))[0], 1000);
});

if (process.platform === 'linux') {
  // H21, R08.
  test.serial('all descriptors are closed in the end', async (t) => {
    const { server, wss } = await start(t);
    const descriptors = () => readdirSync('/proc/self/fd').length;
    const round = async () => {
      const clients = Array.from({ length: 50 }, () => open(t, server));
      await Promise.all(clients.map((client) => once(client, 'open')));
      const closed = Promise.all([...wss.clients].map((ws) => once(ws, 'close')));
      clients.forEach((client, i) => (i % 2 ? client.close() : client.terminate()));
      await closed;
      while ((await connections(server)) !== 0) await turn();
      await Promise.all(clients.map((client) => client.readyState === 3 || once(client, 'close')));
    };
    await round();
    const before = descriptors();
    await round();
    while (descriptors() > before) await turn();
    t.true(descriptors() <= before);
  });
}

// @fastify/websocket requires 'ws' itself: it gets reactor-ws by an override.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import test from 'node:test';

import websocket from '@fastify/websocket';
import fastify from 'fastify';
import { WebSocket } from 'reactor-ws';

import { ask, firstMessage, open, refusal } from './helpers/clients.mjs';
import { assertOnReactor, assertOurs } from './helpers/on-reactor.mjs';

async function start(t, routes, options) {
  const app = fastify();
  await app.register(websocket, { options });
  await app.register(routes);
  assertOurs(app.websocketServer);
  t.after(() => app.close());
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  return { app, url: address.replace('http', 'ws'), address };
}

function echo(socket) {
  socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
}

test('@fastify/websocket: a websocket route echoes text and bytes, beside ordinary routes', async (t) => {
  const { url, address } = await start(t, async (app) => {
    app.get('/echo', { websocket: true }, echo);
    app.route({ method: 'GET', url: '/both', handler: () => 'page', wsHandler: (socket) => socket.send('socket') });
  });
  const client = await open(t, `${url}/echo`);
  assert.equal(await ask(client, 'hello'), 'hello');
  for (const size of [0, 1, 125, 126, 65_536, 1 << 20]) {
    const bytes = Buffer.alloc(size, 'x');
    assert.deepEqual(await ask(client, bytes), bytes);
  }
  await assertOnReactor(1);
  assert.equal(await (await fetch(`${address}/both`)).text(), 'page');
  assert.equal(await firstMessage(t, `${url}/both`), 'socket');
});

test('@fastify/websocket: hooks see the request and may refuse it', async (t) => {
  const { url } = await start(t, async (app) => {
    app.addHook('preValidation', async (request, reply) => {
      if (request.query.token !== 'secret') await reply.code(401).send('no');
    });
    app.get('/', { websocket: true }, (socket, request) => {
      socket.on('message', () => socket.send(`${request.query.token} ${request.headers['x-name']}`));
    });
  });
  assert.equal(await refusal(t, `${url}/?token=guess`), 401);
  const client = await open(t, `${url}/?token=secret`, [], { headers: { 'X-Name': 'ada' } });
  assert.equal(await ask(client, 'who?'), 'secret ada');
  await assertOnReactor(1);
});

test('@fastify/websocket: injectWS: both ends over streams that are no sockets', async (t) => {
  const app = fastify();
  await app.register(websocket);
  app.register(async (scope) => {
    scope.get('/', { websocket: true }, echo);
  });
  // Its streams end only together: as with ws, app.close() would wait for them.
  await app.ready();
  const client = await app.injectWS('/');
  assert.ok(client instanceof WebSocket);
  assert.equal(await ask(client, 'over a stream'), 'over a stream');
  const bytes = Buffer.alloc(100_000, 'x');
  assert.deepEqual(await ask(client, bytes), bytes);
  const [peer] = app.websocketServer.clients;
  assert.ok(peer instanceof WebSocket);
  peer.terminate();
  client.terminate();
  await once(client, 'close');
});

// A program of h3 2 with the adapter of this package, and one with crossws's own server plugin, whose adapter imports a
// copy of ws: https://github.com/h3js/crossws/blob/main/src/server/node.ts
import assert from 'node:assert/strict';
import test from 'node:test';

import { H3, defineWebSocketHandler } from 'h3';
import { fromNodeUpgradeHandler } from 'reactor-ws/crossws';
import { WebSocketServer } from 'reactor-ws';
import { serve } from 'crossws/server/node';

import { ask, open, refusal } from '../helpers/clients.mjs';
import { listen } from '../helpers/http.mjs';
import { assertOnReactor } from '../helpers/on-reactor.mjs';
import { serve as serveH3 } from './recipes/h3.mjs';

test('h3 2: rooms, a page beside, and a refusal', async (t) => {
  const app = new H3();
  app.get('/page', () => 'page');
  app.get('/chat/:room', defineWebSocketHandler({
    upgrade: (request) => {
      if (request.url.includes('secret')) throw new Response('no', { status: 403 });
      return { headers: { 'X-Room': 'yes' } };
    },
    open: (peer) => peer.subscribe('all'),
    message: (peer, message) => {
      peer.publish('all', message.text());
      peer.send(`you: ${message.text()}`);
    },
  }));
  const http = serveH3(app);
  const origin = `127.0.0.1:${await listen(t, http)}`;
  assert.equal(await (await fetch(`http://${origin}/page`)).text(), 'page');
  assert.equal(await refusal(t, `ws://${origin}/chat/secret`), 403);
  const [first, second, other] = await Promise.all(['one', 'one', 'two'].map((room) => open(t, `ws://${origin}/chat/${room}`)));
  // A hook that is resolved later subscribes after 'open'.
  for (const client of [first, second, other]) assert.equal(await ask(client, 'hello'), 'you: hello');
  const heard = [];
  second.on('message', (data) => heard.push(data.toString()));
  other.on('message', (data) => heard.push(`other: ${data}`));
  first.send('to all');
  await ask(other, 'hello');
  while (!heard.includes('to all')) await new Promise(setImmediate);
  assert.ok(!heard.includes('other: to all'));
  await assertOnReactor(3);
});

test("crossws's own server: fromNodeUpgradeHandler with our server", async (t) => {
  const wss = new WebSocketServer({ noServer: true });
  wss.on('connection', (socket) => socket.on('message', (data) => socket.send(`echo ${data}`)));
  const server = serve({
    port: 0,
    hostname: '127.0.0.1',
    silent: true,
    gracefulShutdown: false,
    fetch: () => new Response('page'),
    websocket: fromNodeUpgradeHandler((request, socket, head) => wss.handleUpgrade(request, socket, head, (ws) => wss.emit('connection', ws, request))),
  });
  await server.ready();
  const client = await open(t, server.url.replace('http', 'ws'));
  t.after(() => server.close(true));
  assert.equal(await ask(client, 'hello'), 'echo hello');
  await assertOnReactor(1);
});

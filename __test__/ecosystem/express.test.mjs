// express and a WebSocketServer on one HTTP server: `server`, and upgrades that are handed over.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import test from 'node:test';

import express from 'express';
import { WebSocketServer } from 'reactor-ws';

import { ask, open, refusal } from './helpers/clients.mjs';
import { listen } from './helpers/http.mjs';
import { assertOnReactor } from './helpers/on-reactor.mjs';

function application() {
  const app = express();
  app.get('/hello', (request, response) => response.json({ hello: request.query.name }));
  return app;
}

function echo(socket) {
  socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
}

test('express: pages and sockets of one port', async (t) => {
  const http = createServer(application());
  const wss = new WebSocketServer({ server: http, path: '/ws' });
  wss.on('connection', echo);
  const port = await listen(t, http);

  const client = await open(t, `ws://127.0.0.1:${port}/ws`);
  const page = await fetch(`http://127.0.0.1:${port}/hello?name=you`);
  assert.deepEqual(await page.json(), { hello: 'you' });
  assert.equal(await ask(client, 'text'), 'text');
  const bytes = Buffer.alloc(1 << 20, 'bytes');
  assert.deepEqual(await ask(client, bytes), bytes);
  await assertOnReactor(1);

  const closed = once([...wss.clients][0], 'close');
  client.close(3001, 'enough');
  const [code, reason] = await closed;
  assert.equal(code, 3001);
  assert.equal(reason.toString(), 'enough');
  assert.equal(await refusal(t, `ws://127.0.0.1:${port}/elsewhere`), 400);
});

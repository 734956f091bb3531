// express and a WebSocketServer on one HTTP server: `server`, and upgrades that are handed over.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import test from 'node:test';

import express from 'express';
import { WebSocketServer } from 'reactor-ws';

import { ask, firstMessage, open, refusal } from './helpers/clients.mjs';
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

test('express: a middleware of express decides about the upgrade', async (t) => {
  const http = createServer(application());
  const wss = new WebSocketServer({ noServer: true });
  const session = (request, _response, next) => {
    request.user = request.headers.cookie?.match(/user=(\w+)/)?.[1];
    next();
  };
  http.on('upgrade', (request, socket, head) => {
    session(request, {}, () => {
      if (request.user === undefined) {
        socket.end('HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n\r\n');
        return;
      }
      wss.handleUpgrade(request, socket, head, (ws) => wss.emit('connection', ws, request));
    });
  });
  wss.on('connection', (socket, request) => socket.send(`welcome ${request.user}`));
  const port = await listen(t, http);

  const url = `ws://127.0.0.1:${port}/`;
  assert.equal(await refusal(t, url), 401);
  assert.equal(await firstMessage(t, url, { headers: { cookie: 'user=ada' } }), 'welcome ada');
  await assertOnReactor(1);
});

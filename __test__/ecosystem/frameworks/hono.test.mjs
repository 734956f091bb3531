// @hono/node-server 2 gets the server as an option.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import test from 'node:test';

import { serve, upgradeWebSocket } from '@hono/node-server';
import { Hono } from 'hono';
import { WebSocketServer } from 'reactor-ws';

import { ask, open, refusal } from '../helpers/clients.mjs';
import { assertOnReactor } from '../helpers/on-reactor.mjs';

test('@hono/node-server 2: text, bytes, a page beside, a refusal, and the end', async (t) => {
  const ends = [];
  const app = new Hono();
  app.get('/page', (context) => context.text('page'));
  app.get('/secret', (context) => context.text('no', 403));
  app.get(
    '/live',
    upgradeWebSocket((context) => ({
      onMessage: (event, ws) => ws.send(typeof event.data === 'string' ? `${context.req.query('name')}: ${event.data}` : event.data),
      onClose: (event) => ends.push([event.code, event.reason]),
    })),
  );
  const wss = new WebSocketServer({ noServer: true });
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1', websocket: { server: wss } });
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const origin = `127.0.0.1:${server.address().port}`;
  assert.equal(await (await fetch(`http://${origin}/page`)).text(), 'page');
  assert.notEqual(await refusal(t, `ws://${origin}/secret`), 101);
  const client = await open(t, `ws://${origin}/live?name=ada`);
  assert.equal(await ask(client, 'hello'), 'ada: hello');
  assert.deepEqual(await ask(client, Buffer.from([1, 2, 3])), Buffer.from([1, 2, 3]));
  const long = 'x'.repeat(1_000_000);
  assert.equal(await ask(client, long), `ada: ${long}`);
  await assertOnReactor(1);
  client.close(4000, 'enough');
  await once(client, 'close');
  while (ends.length === 0) await new Promise(setImmediate);
  assert.deepEqual(ends, [[4000, 'enough']]);
});

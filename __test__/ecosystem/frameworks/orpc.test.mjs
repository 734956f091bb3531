// oRPC takes sockets from the application.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import test from 'node:test';

import { createORPCClient } from '@orpc/client';
import { RPCLink } from '@orpc/client/websocket';
import { os } from '@orpc/server';
import { RPCHandler } from '@orpc/server/ws';
import { WebSocketServer } from 'reactor-ws';

import { open } from '../helpers/clients.mjs';
import { listen } from '../helpers/http.mjs';
import { assertOnReactor } from '../helpers/on-reactor.mjs';

test('oRPC: calls at once, an iterator and an error', async (t) => {
  const router = {
    add: os.handler(({ input: [a, b] }) => a + b),
    count: os.handler(async function* ({ input: to }) {
      for (let value = 1; value <= to; value++) yield value;
    }),
    fail: os.handler(() => {
      throw new Error('a mistake');
    }),
  };
  const handler = new RPCHandler(router);
  const http = createServer();
  new WebSocketServer({ server: http }).on('connection', (socket) => handler.upgrade(socket, { context: {} }));
  const websocket = await open(t, `ws://127.0.0.1:${await listen(t, http)}`);
  const client = createORPCClient(new RPCLink({ websocket }));
  const sums = await Promise.all(Array.from({ length: 50 }, (_, index) => client.add([index, 1])));
  assert.deepEqual(sums, Array.from({ length: 50 }, (_, index) => index + 1));
  const seen = [];
  for await (const value of await client.count(20)) seen.push(value);
  assert.equal(seen.length, 20);
  await assert.rejects(client.fail(), /Internal server error/i);
  await assertOnReactor(1);
});

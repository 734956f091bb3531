// tRPC gets the server from the application.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import test from 'node:test';

import { createTRPCClient, createWSClient, wsLink } from '@trpc/client';
import { initTRPC } from '@trpc/server';
import { applyWSSHandler } from '@trpc/server/adapters/ws';
import { WebSocketServer } from 'reactor-ws';

import { RealWebSocket, assertOnReactor } from './helpers/on-reactor.mjs';

const { procedure, router } = initTRPC.create();

const appRouter = router({
  hello: procedure.input(String).query(({ input }) => `hello ${input}`),
  size: procedure.input(String).mutation(({ input }) => input.length),
  address: procedure.query(({ ctx }) => ctx.address),
  count: procedure.input(Number).subscription(async function* ({ input }) {
    for (let value = 1; value <= input; value++) yield value;
  }),
  forever: procedure.subscription(async function* ({ signal }) {
    for (let value = 1; !signal.aborted; value++) yield await new Promise((done) => setImmediate(done, value));
  }),
});

async function start(t, options = {}, host = '127.0.0.1') {
  const wss = new WebSocketServer({ port: 0, host });
  const createContext = ({ req }) => ({ address: req.socket.remoteAddress });
  const handler = applyWSSHandler({ wss, router: appRouter, createContext, ...options });
  t.after(() => {
    for (const client of wss.clients) client.terminate();
    wss.close();
  });
  await once(wss, 'listening');
  return { wss, handler, url: `ws://${host}:${wss.address().port}` };
}

function connect(t, url, options = {}) {
  const socket = createWSClient({ url, WebSocket: RealWebSocket, retryDelayMs: () => 0, ...options });
  t.after(() => socket.close());
  return createTRPCClient({ links: [wsLink({ client: socket })] });
}

function subscribe(procedure, input, limit) {
  return new Promise((resolve, reject) => {
    const seen = [];
    const subscription = procedure.subscribe(input, {
      onData: (value) => {
        if (seen.push(value) !== limit) return;
        subscription.unsubscribe();
        resolve(seen);
      },
      onComplete: () => resolve(seen),
      onError: reject,
    });
  });
}

test('tRPC: queries, mutations with 1 MiB, and the request in the context', async (t) => {
  const { url } = await start(t);
  const client = connect(t, url);
  assert.equal(await client.hello.query('you'), 'hello you');
  assert.equal(await client.size.mutate('ü'.repeat(1 << 20)), 1 << 20);
  assert.equal(await client.address.query(), '127.0.0.1');
  const names = Array.from({ length: 200 }, (_, index) => `n${index}`);
  assert.deepEqual(
    await Promise.all(names.map((name) => client.hello.query(name))),
    names.map((name) => `hello ${name}`),
  );
  await assertOnReactor(1);
});

test('tRPC: subscriptions: to the end, left in the middle, several at once', async (t) => {
  const { url } = await start(t);
  const client = connect(t, url);
  assert.deepEqual(await subscribe(client.count, 3), [1, 2, 3]);
  assert.deepEqual(await subscribe(client.forever, undefined, 4), [1, 2, 3, 4]);
  const all = await Promise.all([100, 200, 300].map((to) => subscribe(client.count, to)));
  assert.deepEqual(all.map((seen) => seen.length), [100, 200, 300]);
  await assertOnReactor(1);
});

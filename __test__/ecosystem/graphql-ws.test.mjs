// graphql-ws gets the server from the application.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import test from 'node:test';

import { GraphQLObjectType, GraphQLInt, GraphQLSchema, GraphQLString } from 'graphql';
import { createClient } from 'graphql-ws';
import { useServer } from 'graphql-ws/use/ws';
import { WebSocketServer } from 'reactor-ws';

import { open } from './helpers/clients.mjs';
import { nextEvents } from './helpers/http.mjs';
import { RealWebSocket, assertOnReactor } from './helpers/on-reactor.mjs';

const LONG = 'long '.repeat(200_000);

const schema = new GraphQLSchema({
  query: new GraphQLObjectType({
    name: 'Query',
    fields: { long: { type: GraphQLString, resolve: () => LONG } },
  }),
  subscription: new GraphQLObjectType({
    name: 'Subscription',
    fields: {
      count: {
        type: GraphQLInt,
        args: { to: { type: GraphQLInt } },
        subscribe: (_root, { to }) => count(to),
        resolve: (value) => value,
      },
      forever: { type: GraphQLInt, subscribe: forever, resolve: (value) => value },
    },
  }),
});

let ended = 0;

async function* count(to) {
  for (let value = 1; value <= to; value++) yield value;
}

async function* forever() {
  try {
    for (let value = 1; ; value++) yield await new Promise((resolve) => setImmediate(resolve, value));
  } finally {
    ended++;
  }
}

function connect(t, url, options = {}) {
  const quiet = { onNonLazyError: () => {}, retryAttempts: 0 };
  const client = createClient({ url, webSocketImpl: RealWebSocket, ...quiet, ...options });
  t.after(() => client.dispose());
  return client;
}

async function values(client, query, limit = Infinity) {
  const seen = [];
  for await (const { data, errors } of client.iterate({ query })) {
    assert.equal(errors, undefined);
    seen.push(Object.values(data)[0]);
    if (seen.length === limit) break;
  }
  return seen;
}

test('graphql-ws: a subscription to its end, several at once, one that is left, a long answer', async (t) => {
  const wss = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  const disposable = useServer({ schema }, wss);
  t.after(() => disposable.dispose());
  await once(wss, 'listening');
  const client = connect(t, `ws://127.0.0.1:${wss.address().port}`, { lazy: false });
  await new Promise((resolve) => client.on('connected', resolve));
  assert.deepEqual(await values(client, 'subscription { count(to: 3) }'), [1, 2, 3]);
  await assertOnReactor(1);
  const sums = await Promise.all([10, 20, 30].map((to) => values(client, `subscription { count(to: ${to}) }`)));
  assert.deepEqual(sums.map((seen) => seen.length), [10, 20, 30]);
  assert.deepEqual(await values(client, '{ long }'), [LONG]);
  const before = ended;
  assert.deepEqual(await values(client, 'subscription { forever }', 3), [1, 2, 3]);
  while (ended === before) await new Promise((resolve) => setImmediate(resolve));
  await assert.rejects(values(client, 'subscription { unknown }'), (errors) => /unknown/.test(errors[0].message));
  await assertOnReactor(1);
});

test('graphql-ws: keep-alive: pings, and the end of a client that does not answer', async (t) => {
  const wss = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  const disposable = useServer({ schema }, wss, 1000);
  t.after(() => disposable.dispose());
  await once(wss, 'listening');
  const url = `ws://127.0.0.1:${wss.address().port}`;
  const [alive, dead] = await Promise.all([
    open(t, url, ['graphql-transport-ws']),
    open(t, url, ['graphql-transport-ws'], { autoPong: false }),
  ]);
  for (const client of [alive, dead]) client.send(JSON.stringify({ type: 'connection_init' }));
  const [[code]] = await Promise.all([once(dead, 'close'), nextEvents(alive, 'ping', 3)]);
  assert.equal(code, 1006);
  assert.equal(alive.readyState, RealWebSocket.OPEN);
  await assertOnReactor(1);
});

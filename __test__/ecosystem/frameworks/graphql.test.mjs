// Apollo Server 5 and GraphQL Yoga leave WebSockets to graphql-ws, which gets the server from the application. mercurius
// requires 'ws' itself: it gets reactor-ws by an override.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import test from 'node:test';

import { ApolloServer } from '@apollo/server';
import { expressMiddleware } from '@as-integrations/express5';
import express from 'express';
import fastify from 'fastify';
import { GraphQLInt, GraphQLObjectType, GraphQLSchema, GraphQLString } from 'graphql';
import { createClient } from 'graphql-ws';
import { useServer } from 'graphql-ws/use/ws';
import { createYoga } from 'graphql-yoga';
import mercurius from 'mercurius';
import { WebSocketServer } from 'reactor-ws';

import { listen } from '../helpers/http.mjs';
import { RealWebSocket, assertOnReactor } from '../helpers/on-reactor.mjs';

const schema = new GraphQLSchema({
  query: new GraphQLObjectType({ name: 'Query', fields: { hello: { type: GraphQLString, resolve: () => 'world' } } }),
  subscription: new GraphQLObjectType({
    name: 'Subscription',
    fields: { count: { type: GraphQLInt, args: { to: { type: GraphQLInt } }, subscribe: (_root, { to }) => count(to), resolve: (value) => value } },
  }),
});

async function* count(to) {
  for (let value = 1; value <= to; value++) yield value;
}

/** A query over HTTP, and a subscription over a WebSocket, both on one port. */
async function exercise(t, origin) {
  const response = await fetch(`http://${origin}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ query: '{ hello }' }),
  });
  assert.deepEqual((await response.json()).data, { hello: 'world' });
  const client = createClient({ url: `ws://${origin}/graphql`, webSocketImpl: RealWebSocket, lazy: false, retryAttempts: 0, onNonLazyError: () => {} });
  t.after(() => client.dispose());
  const seen = [];
  for await (const { data, errors } of client.iterate({ query: 'subscription { count(to: 50) }' })) {
    assert.equal(errors, undefined);
    seen.push(data.count);
  }
  assert.deepEqual(seen, Array.from({ length: 50 }, (_, index) => index + 1));
  await assertOnReactor(1);
}

test('Apollo Server 5, by graphql-ws', async (t) => {
  const apollo = new ApolloServer({ schema });
  await apollo.start();
  t.after(() => apollo.stop());
  const app = express().use('/graphql', express.json(), expressMiddleware(apollo));
  const http = createServer(app);
  const disposable = useServer({ schema }, new WebSocketServer({ server: http, path: '/graphql' }));
  t.after(() => disposable.dispose());
  await exercise(t, `127.0.0.1:${await listen(t, http)}`);
});

test('GraphQL Yoga 5, by graphql-ws', async (t) => {
  const yoga = createYoga({ schema, logging: false });
  const http = createServer(yoga);
  const wss = new WebSocketServer({ server: http, path: yoga.graphqlEndpoint });
  const disposable = useServer(
    {
      execute: (args) => args.rootValue.execute(args),
      subscribe: (args) => args.rootValue.subscribe(args),
      onSubscribe: async (context, _id, { operationName, query, variables }) => {
        const { contextFactory, execute, parse, schema: its, subscribe, validate } = yoga.getEnveloped({ ...context, req: context.extra.request, socket: context.extra.socket, params: { operationName, query, variables } });
        const args = { schema: its, operationName, document: parse(query), variableValues: variables, contextValue: await contextFactory(), rootValue: { execute, subscribe } };
        const errors = validate(args.schema, args.document);
        return errors.length > 0 ? errors : args;
      },
    },
    wss,
  );
  t.after(() => disposable.dispose());
  await exercise(t, `127.0.0.1:${await listen(t, http)}`);
});

test('mercurius 16, by the override', async (t) => {
  const app = fastify();
  const sdl = 'type Query { hello: String } type Subscription { count(to: Int): Int }';
  const resolvers = {
    Query: { hello: () => 'world' },
    Subscription: { count: { subscribe: (_root, { to }) => count(to), resolve: (value) => value } },
  };
  app.register(mercurius, { schema: sdl, resolvers, subscription: { fullWsTransport: true } });
  t.after(() => app.close());
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  await exercise(t, address.replace('http://', ''));
});

// The rooms of tldraw sync take sockets from the application.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import test from 'node:test';

import { TLSocketRoom } from '@tldraw/sync-core';
import { createTLSchema } from '@tldraw/tlschema';
import { WebSocketServer } from 'reactor-ws';

import { open } from '../helpers/clients.mjs';
import { listen } from '../helpers/http.mjs';
import { assertOnReactor } from '../helpers/on-reactor.mjs';

test('tldraw sync: a client connects, and pushes a page', async (t) => {
  const schema = createTLSchema();
  const room = new TLSocketRoom({ schema, log: { warn() {}, error() {} } });
  t.after(() => room.close());
  const http = createServer();
  new WebSocketServer({ server: http }).on('connection', (socket, request) => {
    const { searchParams } = new URL(request.url, 'http://localhost');
    room.handleSocketConnect({ sessionId: searchParams.get('sessionId'), socket });
  });
  const client = await open(t, `ws://127.0.0.1:${await listen(t, http)}/?sessionId=one`);
  const heard = [];
  client.on('message', (data) => heard.push(JSON.parse(data)));
  const until = async (isTrue) => {
    while (!heard.flatMap((one) => (one.type === 'data' ? one.data : [one])).some(isTrue)) await new Promise(setImmediate);
  };
  client.send(JSON.stringify({ type: 'connect', connectRequestId: 'a', protocolVersion: 8, schema: schema.serialize(), lastServerClock: 0 }));
  await until(({ type }) => type === 'connect' || type === 'incompatibility_error');
  const page = { id: 'page:x', typeName: 'page', name: 'x'.repeat(1000), index: 'a2', meta: {} };
  client.send(JSON.stringify({ type: 'push', clientClock: 1, diff: { [page.id]: ['put', page] } }));
  await until(({ type }) => type === 'push_result');
  assert.ok(room.getCurrentSnapshot().documents.some(({ state }) => state.id === page.id && state.name === page.name));
  await assertOnReactor(1);
});

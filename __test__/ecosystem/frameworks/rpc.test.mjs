// rpc-websockets and ocpp-rpc require 'ws' themselves: they get reactor-ws by an override.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import test from 'node:test';

import { RPCClient, RPCServer } from 'ocpp-rpc';
import { Client, Server } from 'rpc-websockets';

import { assertOnReactor, assertOurs } from '../helpers/on-reactor.mjs';

test('rpc-websockets: calls, and an event to all', async (t) => {
  const server = new Server({ port: 0, host: '127.0.0.1' });
  assertOurs(server.wss);
  await once(server, 'listening');
  t.after(() => server.close());
  server.register('sum', ([a, b]) => a + b);
  server.event('news');
  const client = new Client(`ws://127.0.0.1:${server.wss.address().port}`, { reconnect: false });
  t.after(() => client.close());
  await once(client, 'open');
  assert.deepEqual(await Promise.all([1, 2, 3].map((value) => client.call('sum', [value, 1]))), [2, 3, 4]);
  await client.subscribe('news');
  const news = once(client, 'news');
  server.emit('news', 'hello');
  assert.deepEqual(await news, ['hello']);
  await assertOnReactor(1);
});

test('ocpp-rpc: a charge point logs in, is called, and is refused with a wrong subprotocol', async (t) => {
  const server = new RPCServer({ protocols: ['ocpp1.6'] });
  server.auth((accept, reject, handshake) => (handshake.identity === 'known' ? accept({ known: true }) : reject(401)));
  const points = [];
  server.on('client', (client) => {
    client.handle('BootNotification', ({ params }) => ({ status: 'Accepted', currentTime: params.at }));
    points.push(client);
  });
  const http = await server.listen(0, '127.0.0.1');
  t.after(() => server.close({ force: true }));
  const connect = (identity) => new RPCClient({ endpoint: `ws://127.0.0.1:${http.address().port}`, identity, protocols: ['ocpp1.6'], reconnect: false });
  const point = connect('known');
  t.after(() => point.close({ force: true }));
  point.handle('Reset', () => ({ status: 'Accepted' }));
  await point.connect();
  assert.deepEqual(await point.call('BootNotification', { at: 'now' }), { status: 'Accepted', currentTime: 'now' });
  assert.deepEqual(await points[0].call('Reset', { type: 'Soft' }), { status: 'Accepted' });
  await assert.rejects(connect('unknown').connect(), /401|Unauthorized/);
  await assertOnReactor(1);
});

// The server of PeerJS takes a function that makes its WebSocketServer. Its client needs a browser; it sends these messages.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import test from 'node:test';

import { PeerServer } from 'peer';
import { WebSocket, WebSocketServer } from 'reactor-ws';

import { RealWebSocket, assertOnReactor } from '../helpers/on-reactor.mjs';

test('PeerJS: an offer from one peer to another', async (t) => {
  let listening;
  const started = new Promise((resolve) => {
    listening = resolve;
  });
  const app = PeerServer({ port: 0, host: '127.0.0.1', path: '/app', createWebSocketServer: (options) => new WebSocketServer({ ...options, WebSocket }) }, listening);
  const server = await started;
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const joined = [];
  app.on('connection', (client) => joined.push(client.getId()));
  const peers = await Promise.all(['ada', 'bob'].map(async (id) => {
    const client = new RealWebSocket(`ws://127.0.0.1:${server.address().port}/app/peerjs?key=peerjs&id=${id}&token=${id}-token`);
    t.after(() => client.terminate());
    const [data] = await once(client, 'message');
    assert.deepEqual(JSON.parse(data), { type: 'OPEN' });
    return client;
  }));
  const offer = { type: 'OFFER', dst: 'bob', payload: { sdp: 'x'.repeat(10_000) } };
  const heard = once(peers[1], 'message');
  peers[0].send(JSON.stringify(offer));
  assert.deepEqual(JSON.parse((await heard)[0]), { ...offer, src: 'ada' });
  assert.deepEqual(joined.sort(), ['ada', 'bob']);
  await assertOnReactor(2);
  // Its timers for expired messages and broken connections have no end.
  t.after(() => setImmediate(process.exit));
});

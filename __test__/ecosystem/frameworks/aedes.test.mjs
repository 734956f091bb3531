// An MQTT broker takes any stream: createWebSocketStream makes one of a WebSocket.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import test from 'node:test';

import { Aedes } from 'aedes';
import mqtt from 'mqtt';
import { WebSocketServer, createWebSocketStream } from 'reactor-ws';

import { listen } from '../helpers/http.mjs';
import { assertOnReactor } from '../helpers/on-reactor.mjs';

test('aedes: MQTT over WebSockets, short and long messages of every quality of service', async (t) => {
  const broker = await Aedes.createBroker();
  t.after(() => new Promise((resolve) => broker.close(resolve)));
  const http = createServer();
  const wss = new WebSocketServer({ server: http });
  wss.on('connection', (socket, request) => broker.handle(createWebSocketStream(socket), request));
  const url = `ws://127.0.0.1:${await listen(t, http)}`;
  const [publisher, subscriber] = await Promise.all([1, 2].map(() => mqtt.connectAsync(url)));
  t.after(() => Promise.all([publisher.endAsync(true), subscriber.endAsync(true)]));
  await subscriber.subscribeAsync('rooms/+', { qos: 2 });
  const heard = [];
  const all = new Promise((resolve) => {
    subscriber.on('message', (topic, payload) => heard.push([topic, payload.length]) === 6 && resolve());
  });
  for (const qos of [0, 1, 2]) {
    for (const size of [10, 1_000_000]) await publisher.publishAsync(`rooms/${qos}`, Buffer.alloc(size, 'x'), { qos });
  }
  await all;
  assert.deepEqual(heard, [0, 1, 2].flatMap((qos) => [10, 1_000_000].map((size) => [`rooms/${qos}`, size])));
  await assertOnReactor(2);
});

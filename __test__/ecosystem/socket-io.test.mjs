// socket.io takes the class of its WebSocketServer as an option: no override is needed.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import test from 'node:test';

import { NodeWebSocket } from 'engine.io-client';
import { WebSocket, WebSocketServer } from 'reactor-ws';
import { Server } from 'socket.io';
import { io } from 'socket.io-client';

import { listen } from './helpers/http.mjs';
import { assertOnReactor, assertOurs } from './helpers/on-reactor.mjs';

const MEGABYTE = 1 << 20;

async function start(t, options = {}) {
  const http = createServer();
  const server = new Server(http, { wsEngine: WebSocketServer, maxHttpBufferSize: 4 * MEGABYTE, ...options });
  assertOurs(server.engine.ws);
  server.on('connection', (socket) => {
    socket.on('echo', (data, answer) => answer(data));
    socket.on('join', (room, answer) => answer(socket.join(room)));
    socket.on('say', (room, ...args) => server.to(room).emit('said', ...args));
    socket.on('kick', () => socket.disconnect(true));
  });
  const port = await listen(t, http);
  t.after(() => server.close());
  return { server, url: `http://127.0.0.1:${port}` };
}

async function connect(t, url, options = { transports: ['websocket'] }) {
  const client = io(url, { forceNew: true, reconnection: false, ...options });
  t.after(() => client.close());
  await once(client, 'connect');
  return client;
}

test('socket.io: polling is upgraded to websocket, messages and answers go on', async (t) => {
  const { server, url } = await start(t);
  const client = io(url, { forceNew: true, reconnection: false, transports: ['polling', 'websocket'] });
  t.after(() => client.close());
  const { engine } = client.io;
  const upgraded = once(engine, 'upgrade');
  await once(engine, 'open');
  assert.equal(engine.transport.name, 'polling');
  const before = client.emitWithAck('echo', 'before');
  await upgraded;
  assert.equal(await before, 'before');
  assert.equal(await client.emitWithAck('echo', 'after'), 'after');
  assert.equal(engine.transport.name, 'websocket');
  const [socket] = await server.fetchSockets();
  assert.equal(server.sockets.sockets.get(socket.id).conn.transport.name, 'websocket');
  assert.equal(server.sockets.sockets.get(socket.id).conn.remoteAddress, '127.0.0.1');
  await assertOnReactor(1);
});

test('socket.io: text and binary, short and of 1 MiB, in one message and many', async (t) => {
  const { url } = await start(t);
  const client = await connect(t, url);
  const long = 'ü'.repeat(MEGABYTE / 2);
  const bytes = Buffer.alloc(MEGABYTE, (Math.PI * 1e9).toString());
  for (const data of ['short', long, Buffer.from([1, 2, 3]), bytes, { deep: [bytes, { text: long }] }]) {
    assert.deepEqual(await client.emitWithAck('echo', data), data);
  }
  const numbers = Array.from({ length: 1000 }, (_, index) => index);
  assert.deepEqual(await Promise.all(numbers.map((number) => client.emitWithAck('echo', number))), numbers);
  await assertOnReactor(1);
});

test('socket.io: a broadcast reaches the room, and nobody else, in order', async (t) => {
  const { url } = await start(t);
  const clients = await Promise.all(Array.from({ length: 5 }, () => connect(t, url)));
  const [outsider, ...insiders] = clients;
  await Promise.all(insiders.map((client) => client.emitWithAck('join', 'room')));
  const said = insiders.map((client) => {
    const seen = [];
    return new Promise((resolve) => client.on('said', (value) => seen.push(value) === 101 && resolve(seen)));
  });
  outsider.on('said', () => assert.fail('the outsider got a message of the room'));
  const blob = Buffer.alloc(70_000, 7);
  for (let index = 0; index < 100; index++) outsider.emit('say', 'room', index);
  outsider.emit('say', 'room', blob);
  const expected = [...Array(100).keys(), blob];
  for (const seen of await Promise.all(said)) assert.deepEqual(seen, expected);
  assert.equal(await outsider.emitWithAck('echo', 'still here'), 'still here');
  await assertOnReactor(5);
});

test('socket.io: the client of reactor-ws below socket.io-client', async (t) => {
  class Transport extends NodeWebSocket {
    createSocket(address, protocols, options) {
      return new WebSocket(address, protocols, options);
    }
  }
  const { url } = await start(t);
  const client = await connect(t, url, { transports: [Transport] });
  assert.ok(client.io.engine.transport.ws instanceof WebSocket);
  const bytes = Buffer.alloc(MEGABYTE, 'abc');
  assert.deepEqual(await client.emitWithAck('echo', bytes), bytes);
  assert.equal(await client.emitWithAck('echo', 'text'), 'text');
  await assertOnReactor(1);
});

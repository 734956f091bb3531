// NestJS without an override: an adapter of platform-ws that makes our server, one of platform-socket.io that has our engine.
import 'reflect-metadata';

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import test from 'node:test';

import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { io } from 'socket.io-client';

import { ask, open } from '../helpers/clients.mjs';
import { assertOnReactor } from '../helpers/on-reactor.mjs';
import { ReactorIoAdapter, ReactorWsAdapter } from './recipes/nestjs.mjs';

/** An application with one gateway, with the work of TypeScript's decorators done by hand. */
function application(...metadata) {
  class Gateway {
    echo(_client, data) {
      return { event: 'echo', data };
    }
  }
  SubscribeMessage('echo')(Gateway.prototype, 'echo', Object.getOwnPropertyDescriptor(Gateway.prototype, 'echo'));
  WebSocketGateway(...metadata)(Gateway);
  class Application {}
  Module({ providers: [Gateway] })(Application);
  return NestFactory.create(Application, { logger: false });
}

for (const [title, port, options] of [
  ['on the port of the application', 0, { path: '/chat', maxPayload: 1024 }],
  ['on a port of its own', await freePort(), { path: '/chat', host: '127.0.0.1', maxPayload: 1024 }],
]) {
  test(`NestJS, platform-ws: a WsAdapter whose create() makes our server, ${title}`, async (t) => {
    const app = await application(port, options);
    app.useWebSocketAdapter(new ReactorWsAdapter(app));
    await app.listen(0, '127.0.0.1');
    t.after(() => app.close());
    const client = await open(t, `ws://127.0.0.1:${port || app.getHttpServer().address().port}/chat`);
    assert.deepEqual(JSON.parse(await ask(client, '{"event":"echo","data":[1,"ü"]}')), { event: 'echo', data: [1, 'ü'] });
    await assertOnReactor(1);
    const closed = once(client, 'close');
    client.send('x'.repeat(2000));
    assert.equal((await closed)[0], 1009);
  });
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

test('NestJS, platform-socket.io: an IoAdapter with wsEngine', async (t) => {
  const app = await application();
  app.useWebSocketAdapter(new ReactorIoAdapter(app));
  await app.listen(0, '127.0.0.1');
  t.after(() => app.close());
  const client = io(`http://127.0.0.1:${app.getHttpServer().address().port}`, { transports: ['websocket'] });
  t.after(() => client.close());
  await once(client, 'connect');
  const echo = once(client, 'echo');
  client.emit('echo', { bytes: Buffer.from([1, 2]) });
  assert.deepEqual((await echo)[0], { bytes: Buffer.from([1, 2]) });
  await assertOnReactor(1);
});

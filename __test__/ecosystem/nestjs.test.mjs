// The ws adapter of NestJS requires 'ws' itself: it gets reactor-ws by an override.
import 'reflect-metadata';

import assert from 'node:assert/strict';
import { once } from 'node:events';
import test from 'node:test';

import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { WsAdapter } from '@nestjs/platform-ws';
import { SubscribeMessage, WebSocketGateway, WebSocketServer } from '@nestjs/websockets';
import { from } from 'rxjs';

import { ask, firstMessage, open } from './helpers/clients.mjs';
import { assertOnReactor, assertOurs } from './helpers/on-reactor.mjs';

const seen = [];

class Gateway {
  handleConnection(client, request) {
    seen.push(`connected ${request.url}`);
    client.send('welcome');
  }

  handleDisconnect() {
    seen.push('disconnected');
  }

  echo(_client, data) {
    return { event: 'echo', data };
  }

  count(_client, to) {
    return from(Array.from({ length: to }, (_, index) => ({ event: 'count', data: index + 1 })));
  }

  all() {
    for (const client of this.server.clients) client.send('to all');
  }
}

// The work of TypeScript's decorators, by hand.
for (const [event, name] of Object.entries({ all: 'all', count: 'count', echo: 'echo' })) {
  SubscribeMessage(event)(Gateway.prototype, name, Object.getOwnPropertyDescriptor(Gateway.prototype, name));
}
WebSocketServer()(Gateway.prototype, 'server');
WebSocketGateway({ path: '/chat' })(Gateway);

class Application {}
Module({ providers: [Gateway] })(Application);

async function start(t) {
  const app = await NestFactory.create(Application, { logger: false });
  app.useWebSocketAdapter(new WsAdapter(app));
  await app.listen(0, '127.0.0.1');
  t.after(() => app.close());
  const gateway = app.get(Gateway);
  assertOurs(gateway.server);
  return { gateway, url: `ws://127.0.0.1:${app.getHttpServer().address().port}/chat` };
}

const message = (event, data) => JSON.stringify({ event, data });

test('NestJS: a gateway answers, streams and broadcasts', async (t) => {
  const { gateway, url } = await start(t);
  assert.equal(await firstMessage(t, `${url}?room=1`), 'welcome');
  assert.equal(seen[0], 'connected /chat?room=1');

  const [first, second] = await Promise.all([open(t, url), open(t, url)]);
  assert.deepEqual(JSON.parse(await ask(first, message('echo', { deep: [1, 'ü'] }))), {
    event: 'echo',
    data: { deep: [1, 'ü'] },
  });
  const long = 'long '.repeat(200_000);
  assert.equal(JSON.parse(await ask(second, message('echo', long))).data, long);

  const numbers = [];
  first.on('message', (data) => numbers.push(JSON.parse(data).data));
  first.send(message('count', 5));
  while (numbers.length < 5) await once(first, 'message');
  assert.deepEqual(numbers, [1, 2, 3, 4, 5]);
  first.removeAllListeners('message');

  // Messages without a subscriber, and messages that are not JSON, are ignored.
  first.send(message('unknown'));
  first.send('{');
  const told = once(second, 'message');
  assert.equal(await ask(first, message('all')), 'to all');
  assert.equal((await told)[0].toString(), 'to all');
  await assertOnReactor(gateway.server.clients.size);
});

// The transport of Colyseus requires 'ws' itself: it gets reactor-ws by an override.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import test from 'node:test';

import { Room, Server } from '@colyseus/core';
import { Client } from '@colyseus/sdk';
import { WebSocketTransport } from '@colyseus/ws-transport';

import { assertOnReactor, assertOurs } from '../helpers/on-reactor.mjs';

class Game extends Room {
  onCreate() {
    this.onMessage('echo', (client, message) => client.send('echo', message));
    this.onMessage('all', (_client, message) => this.broadcast('all', message));
  }
}

test('Colyseus 0.18: messages of a room, to one and to all', async (t) => {
  const server = createServer();
  const transport = new WebSocketTransport({ server });
  assertOurs(transport.wss);
  const game = new Server({ transport, greet: false, gracefullyShutdown: false });
  game.define('game', Game);
  await game.listen(0, '127.0.0.1');
  t.after(() => game.gracefullyShutdown(false));
  const client = new Client(`ws://127.0.0.1:${server.address().port}`);
  const rooms = [await client.create('game')];
  rooms.push(await client.joinById(rooms[0].roomId));
  const next = (room, name) => new Promise((resolve) => room.onMessage(name, resolve));
  const echo = next(rooms[0], 'echo');
  rooms[0].send('echo', { deep: [1, 'ü'] });
  assert.deepEqual(await echo, { deep: [1, 'ü'] });
  const all = rooms.map((room) => next(room, 'all'));
  rooms[1].send('all', 'news');
  assert.deepEqual(await Promise.all(all), ['news', 'news']);
  await assertOnReactor(2);
  await Promise.all(rooms.map((room) => room.leave()));
});

// Colyseus requires 'ws' itself: it gets reactor-ws by an override.
import assert from 'node:assert/strict';
import test from 'node:test';

import { Room, Server } from '@colyseus/core';
import { WebSocketTransport } from '@colyseus/ws-transport';
import { Client } from 'colyseus.js';

import { start } from './helpers/colyseus.mjs';
import { assertOnReactor } from './helpers/on-reactor.mjs';

const ROUNDS = 12;

/** Ways of dropping a connection that its client notices; no frame reports any of them. */
const DROPS = {
  'the client ends its side': (room) => room.connection.transport.ws._socket.end(),
  'the server terminates': (room) => room.send('drop'),
};

class Game extends Room {
  onCreate() {
    this.onMessage('drop', (client) => client.ref.terminate());
    this.onMessage('echo', (client, message) => client.send('echo', message));
  }

  async onLeave(client, consented) {
    if (!consented) await this.allowReconnection(client, 60).catch(() => {});
  }
}

// The server's 'close' listener keeps the seat, and the client's requests it.
for (const [name, drop] of Object.entries(DROPS)) {
  test(`Colyseus: reconnect() as soon as the client hears of the drop: ${name}`, async (t) => {
    const client = await start(t, { Client, Server, WebSocketTransport }, Game);
    let room = await client.create('game');
    const { sessionId } = room;
    for (let round = 0; round < ROUNDS; round++) {
      const echo = new Promise((resolve) => room.onMessage('echo', resolve));
      room.send('echo', round);
      assert.equal(await echo, round);
      const left = new Promise((resolve) => room.onLeave(resolve));
      drop(room);
      await left;
      room = await client.reconnect(room.reconnectionToken);
      assert.equal(room.sessionId, sessionId);
    }
    await assertOnReactor(1);
    await room.leave();
  });
}

// A subscriber ends its side without a close frame while bytes wait for it: it has left its topics,
// and what is published from then on is not for it, whatever its topics do with slow members.
import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';

import { join, openRoom, test } from '../helpers/index.mjs';

const SIZE = 64 * 1024;
/** More than any kernel takes for a peer that does not read. */
const BEFORE = 300;
const AFTER = 50;

const SETTINGS = {
  queue: {},
  drop: { slow: 'drop', limit: 2 * BEFORE * SIZE },
  latest: { slow: 'latest', limit: SIZE },
  'catch-up': { slow: 'catch-up', limit: SIZE, history: 10 * BEFORE },
  since: { slow: 'catch-up', limit: SIZE, history: 10 * BEFORE },
};

async function leftBy(ws) {
  while (ws.readyState === ws.OPEN) await turn();
}

/** The ways in which a subscriber with waiting bytes leaves OPEN, and its side of the socket does not end. */
const LEAVE = {
  'a FIN': async ({ ws, client }) => {
    client._socket.end();
    await leftBy(ws);
  },
  'a FIN after pings': async ({ ws, client }) => {
    for (let n = 0; n < 20; n++) client.ping();
    client._socket.end();
    await leftBy(ws);
  },
  'our close': async ({ ws }) => ws.close(),
  'a Blob that cannot be read': async ({ ws }) => {
    ws.send(Object.assign(new Blob(['x']), { arrayBuffer: () => Promise.reject(new Error('mine')) }));
    await leftBy(ws);
  },
};

for (const way of ['port', 'server', 'stream']) {
  for (const [name, settings] of Object.entries(SETTINGS)) {
    for (const [end, leave] of Object.entries(LEAVE)) {
      test.serial(`${way}: nothing that is published after ${end} is for it, ${name}`, async (t) => {
        const options = { historyBudget: 0, closeTimeout: 600_000, topicOptions: () => settings };
        const { server, all } = await openRoom(t, way, 1, options);
        const [one] = all;
        const other = await join(t, server);
        other.ws.subscribe('room');
        one.client._socket.pause();
        if (name !== 'since') one.ws.subscribe('room');
        server.broadcast('first');
        for (let n = 0; n < BEFORE; n++) {
          server.publish('room', `${n} `.padEnd(SIZE, 'x'), { key: `${n}` });
          if (n % 20 === 0) await turn();
        }
        if (name === 'since') one.ws.subscribe('room', { since: 'oldest' });
        await server.history('room');
        await leave(one);
        t.deepEqual([one.ws.subscriptions, server.subscriberCount('room'), one.ws.unsubscribe('room')], [[], 1, false]);
        for (let n = 0; n < AFTER; n++) {
          const text = 'secret'.padEnd(SIZE, 'z');
          t.is(server.publish('room', text), 1);
          t.is(server.publish('room', text.replaceAll('z', 'y')), 1);
          t.is(server.broadcast(text), 1);
          t.is(server.publish('room', text, { key: 'secret' }), 1);
          while (other.heard.length < 4 * n) await once(other.client, 'message');
        }
        const most = name === 'queue' || name === 'drop' ? BEFORE * (SIZE + 20) : 3 * SIZE;
        t.true(one.ws.bufferedAmount <= most, `${one.ws.bufferedAmount} bytes wait`);
        one.client._socket.resume();
        if (one.client.readyState !== one.client.CLOSED) await once(one.client, 'close');
        t.false(one.heard.some((text) => text.startsWith('secret')));
        const texts = one.heard.filter((text) => text !== 'first').map((text) => Number.parseInt(text, 10));
        t.deepEqual(texts, texts.toSorted((a, b) => a - b));
        if (name === 'queue' || name === 'drop') t.is(texts.length, BEFORE);
      });
    }
  }
}

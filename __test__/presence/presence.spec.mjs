// Presence in a topic of one server: the messages to watchers add up to the list of the server.
import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';

import { WebSocket } from '../../lib/index.mjs';
import { WebSocketServer, ownOnly, startServer } from '../helpers/index.mjs';
import { Replica } from '../helpers/presence.mjs';
import { join } from '../helpers/topics.mjs';

const QUICK = { presenceGrace: 20, presenceInterval: 1 };

async function open(t, options, count = 1) {
  const server = await startServer(t, { ...QUICK, ...options });
  const members = [];
  for (let n = 0; n < count; n++) members.push(await join(t, server));
  return { server, members };
}

/** The next event of a topic. */
async function change(server) {
  const [, what] = await once(server, 'presence');
  return what;
}

ownOnly('what is announced first does not wait, however young the process is', async (t) => {
  const { server, members: [{ client, ws }] } = await open(t, { presenceInterval: 2 ** 31 - 1 });
  const message = once(client, 'message');
  ws.enter('room', { key: 'ann' });
  server.presence('room').watch(ws);
  t.is(String((await message)[0]), '{"presence":"room","state":{"ann":[null]},"count":1}');
});

ownOnly('a key with three connections is there once, until the last one has left', async (t) => {
  const { server, members } = await open(t, {}, 3);
  const metas = ['phone', { os: 'x' }, undefined];
  const joined = change(server);
  for (const [n, { ws }] of members.entries()) t.true(ws.enter('room', { key: 'ann', meta: metas[n] }));
  t.deepEqual(await joined, { joins: { ann: ['phone', { os: 'x' }, null] }, leaves: [], count: 1 });
  const room = server.presence('room');
  t.deepEqual(room.list(), [{ key: 'ann', metas: ['phone', { os: 'x' }, null] }]);
  t.deepEqual([room.count, room.get('ann'), room.get('bob')], [1, ['phone', { os: 'x' }, null], undefined]);
  const fewer = change(server);
  t.true(members[0].ws.leave('room'));
  t.false(members[0].ws.leave('room'));
  t.deepEqual(await fewer, { joins: { ann: [{ os: 'x' }, null] }, leaves: [], count: 1 });
  const other = change(server);
  t.true(members[1].ws.enter('room', { key: 'ann', meta: 2 }));
  t.deepEqual(await other, { joins: { ann: [2, null] }, leaves: [], count: 1 });
  const moved = change(server);
  t.true(members[1].ws.enter('room', { key: 'bob' }));
  t.deepEqual(await moved, { joins: { ann: [null], bob: [null] }, leaves: [], count: 2 });
  const gone = change(server);
  for (const { ws } of members) ws.leave('room');
  const { leaves, ...rest } = await gone;
  t.deepEqual([leaves.toSorted?.() ?? leaves.sort(), rest], [['ann', 'bob'], { joins: {}, count: 0 }]);
  t.is(server._topics.presence.rooms.size, 0);
});

ownOnly('a key with 101 connections shows the metas of 100, and another one is no news', async (t) => {
  const { server, members } = await open(t, {}, 102);
  const room = server.presence('room');
  const joined = change(server);
  for (const [n, { ws }] of members.slice(1).entries()) ws.enter('room', { key: 'ann', meta: n });
  t.deepEqual((await joined).joins.ann, Array.from({ length: 100 }, (_, n) => n));
  const other = change(server);
  members[1].ws.enter('room', { key: 'ann', meta: 'first' });
  members[0].ws.enter('room', { key: 'ann', meta: 'last' });
  t.deepEqual((await other).joins.ann.slice(0, 2), ['first', 1]);
  members[0].ws.leave('room');
  members[0].ws.enter('room', { key: 'bob' });
  server.once('presence', (_, { joins }) => t.deepEqual(Object.keys(joins), ['bob']));
  await once(server, 'presence');
  t.is(room.get('ann').length, 100);
});

ownOnly('who comes back in the grace time has not left; who does not has', async (t) => {
  const { server, members: [one, two] } = await open(t, { presenceGrace: 2000 }, 2);
  const joined = change(server);
  one.ws.enter('room', { key: 'ann', meta: 1 });
  two.ws.enter('room', { key: 'bob', meta: 2 });
  await joined;
  for (const { ws } of [one, two]) ws.terminate();
  const back = await join(t, server);
  const again = change(server);
  back.ws.enter('room', { key: 'ann', meta: 3 });
  t.deepEqual(await again, { joins: { ann: [3] }, leaves: [], count: 2 });
  t.deepEqual(server.presence('room').get('bob'), [2]);
  t.deepEqual(await change(server), { joins: {}, leaves: ['bob'], count: 1 });
});

ownOnly('those that watch get the state, then what changes; after the limit only a number', async (t) => {
  const { server, members } = await open(t, { presenceLimit: 10 }, 13);
  const watcher = new Replica(members[0]);
  const room = server.presence('room');
  t.true(room.watch(watcher.ws));
  t.true(room.watch(watcher.ws));
  for (const count of [9, 10, 11, 13, 11, 10, 9, 8, 1, 0, 12, 0]) {
    for (const [n, { ws }] of members.entries()) {
      if (n < count) ws.enter('room', { key: `k${n}` });
      else ws.leave('room');
    }
    await watcher.until(({ count: known }) => known === count);
    t.is(watcher.keys === null, count > 10 || (count === 10 && watcher.wasCounted), `${count}`);
    if (watcher.keys !== null) t.deepEqual([...watcher.keys.keys()].sort(), members.slice(0, count).map((_, n) => `k${n}`).sort());
  }
  t.deepEqual(watcher.faults, []);
  t.deepEqual(watcher.ws.subscriptions, []);
  t.true(room.unwatch(watcher.ws));
  t.false(room.unwatch(watcher.ws));
  const { length } = watcher.messages;
  members[1].ws.enter('room', { key: 'x' });
  await change(server);
  members[0].ws.send('end');
  while (members[0].heard.at(-1) !== 'end') await once(members[0].client, 'message');
  t.is(watcher.messages.length, length);
});

ownOnly('what is looked at only, or has ended, is forgotten', async (t) => {
  const { server, members: [one, two] } = await open(t, { presenceGrace: 0 }, 2);
  for (let n = 0; n < 100; n++) t.is(server.presence(`room ${n}`).count, 0);
  server.presence('watched').watch(two.ws);
  one.ws.enter('room', { key: 'ann' });
  await change(server);
  t.deepEqual([...server._topics.presence.rooms.keys()], ['watched', 'room']);
  const gone = change(server);
  one.ws.terminate();
  t.deepEqual(await gone, { joins: {}, leaves: ['ann'], count: 0 }, 'without a grace time');
  two.ws.terminate();
  await once(two.client, 'close');
  while (server._topics.presence.rooms.size !== 0) await turn();
  t.deepEqual([one.ws.enter('room', { key: 'ann' }), server.presence('room').watch(two.ws), one.ws.leave('room')], [false, false, false]);
  t.is(server.presence('room').count, 0);
});

ownOnly('names and keys may be anything, and metas what JSON has', async (t) => {
  const { server, members } = await open(t, {}, 2);
  const watcher = new Replica(members[1]);
  const names = ['', '\0', '__proto__', 'e\ud800', '{a}\n', 'x'.repeat(70_000)];
  for (const name of names) {
    server.presence(name).watch(watcher.ws);
    for (const key of ['__proto__', 'constructor', '"\\\n\ud800', '€'.repeat(256)]) {
      members[0].ws.enter(name, { key, meta: { toJSON: () => key.length } });
      await watcher.until(({ keys }) => keys?.has(key));
      t.deepEqual([watcher.last.presence, watcher.keys.get(key)], [name, [key.length]]);
      t.deepEqual(server.presence(name).get(key), [key.length]);
    }
    server.presence(name).unwatch(watcher.ws);
    watcher.keys.clear();
  }
});

ownOnly('wrong arguments change nothing', async (t) => {
  const { server, members: [{ ws }] } = await open(t);
  const client = new WebSocket(`ws://127.0.0.1:${server.address().port}`);
  await once(client, 'open');
  const wrong = [
    [() => ws.enter(1, { key: 'a' }), TypeError, 'topic must be a string. Received 1'],
    [() => ws.enter('a'), TypeError, 'options must be an object. Received undefined'],
    [() => ws.enter('a', {}), TypeError, 'options.key must be a string. Received undefined'],
    [() => ws.enter('a', { key: '' }), RangeError, 'options.key must have 1 to 256 characters. Received 0'],
    [() => ws.enter('a', { key: 'x'.repeat(257) }), RangeError, 'options.key must have 1 to 256 characters. Received 257'],
    [() => ws.enter('a', { key: 'x', meta: 'x'.repeat(1023) }), RangeError, 'options.meta must have at most 1024 characters in JSON. Received 1025'],
    [() => ws.enter('a', { key: 'x', meta: 1n }), TypeError, /BigInt/],
    [() => ws.leave(1), TypeError, 'topic must be a string. Received 1'],
    [() => client.enter('a', { key: 'x' }), TypeError, 'Only connections of a WebSocketServer have topics'],
    [() => server.presence(), TypeError, 'topic must be a string. Received undefined'],
    [() => server.presence('a').watch({}), TypeError, /^socket must be a connection of this server/],
    [() => server.presence('a').watch(client), TypeError, /^socket must be a connection of this server/],
    [() => new WebSocketServer({ noServer: true, presenceGrace: -1 }), RangeError, /options.presenceGrace/],
    [() => new WebSocketServer({ noServer: true, presenceLimit: '1' }), TypeError, /options.presenceLimit/],
  ];
  for (const [call, instanceOf, message] of wrong) t.throws(call, { instanceOf, message });
  t.true(ws.enter('a', { key: 'x'.repeat(256), meta: 'x'.repeat(1022) }));
  t.is(server.presence('a').count, 1);
});

ownOnly('a watcher that does not read is closed once 16 MiB wait, and others go on', async (t) => {
  const { server, members } = await open(t, { closeTimeout: 600_000 }, 3);
  const [stalled, live, member] = members;
  for (const { ws } of [stalled, live]) server.presence('room').watch(ws);
  stalled.client._socket.pause();
  const data = Buffer.alloc(2 ** 20);
  for (let n = 0; n < 40; n++) stalled.ws.send(data);
  member.ws.enter('room', { key: 'ann' });
  while (!live.heard.at(-1)?.includes('"count":1')) await turn();
  const closed = once(stalled.client, 'close');
  stalled.client._socket.resume();
  t.is((await closed)[0], 1013);
});

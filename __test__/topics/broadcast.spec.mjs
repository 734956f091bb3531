// broadcast(): a message to all connections of a server, members of a topic without a name.
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { setImmediate as turn } from 'node:timers/promises';

import { WebSocket } from '../../lib/index.mjs';
import { TOPIC_WAYS, everyWay, heardBy, join, openRoom, test } from '../helpers/index.mjs';

const require = createRequire(import.meta.url);
const { bytesSettled } = require('../../lib/reactor/exchange.js');
const { connections } = require('../../lib/reactor/table.js');
const outbox = require('../../lib/reactor/outbox.js');

/** Bytes of the reactor's connection that no longer wait; a stream has none. */
const settled = (ws) => (ws._extra?.stream ? ws._accepted : bytesSettled(ws));

everyWay(test, 'broadcast: one that opens later gets the next, and nobody sees a topic', async (t, start, way) => {
  const { server, all } = await openRoom(t, way, 2);
  const [a, b] = all;
  a.ws.send(new Blob(['blob']));
  t.is(server.broadcast('1'), 2);
  a.ws.send('2');
  t.is(server.broadcast('3'), 2);
  t.true(a.ws.bufferedAmount > 0);
  const c = await join(t, server);
  t.is(server.broadcast('4', { except: [b.ws] }), 2);
  t.deepEqual([[...server.topics()], a.ws.subscriptions, server.subscriberCount('')], [[], [], 0]);
  a.ws.subscribe('');
  t.is(server.publish('', '5'), 1);
  const [heard, ...others] = await heardBy(a, b, c);
  const isSent = (one) => typeof one !== 'string' || one === '2';
  // A published message can overtake a Blob, and the sends that wait for it.
  t.deepEqual(heard.filter(isSent), [Buffer.from('blob'), '2']);
  t.deepEqual(heard.filter((one) => !isSent(one)), ['1', '3', '4', '5']);
  t.deepEqual(others, [['1', '3'], ['4']]);
  const closed = [a, b, c].map(({ ws }) => once(ws, 'close'));
  for (const { ws } of [a, b, c]) ws.terminate();
  t.is(server.broadcast('to nobody'), 0);
  await Promise.all(closed);
  const d = await join(t, server);
  t.is(server.broadcast('again'), 1);
  t.deepEqual(await heardBy(d), [['again']]);
}, TOPIC_WAYS);

/** Bytes that wait, from which on `send()` returns false. */
const MARK = 2 ** 20;

const SAID = {
  broadcast: (server, data, options) => server.broadcast(data, options),
  publish: (server, data, options) => server.publish('room', data, options),
};

for (const [how, say] of Object.entries(SAID)) {
  for (const way of Object.keys(TOPIC_WAYS)) {
    test(`${way}: ${how}() counts in bufferedAmount and in the result of send() once the reactor has it`, async (t) => {
      const { server, all } = await openRoom(t, way, 3);
      const [a, b, c] = all;
      for (const { ws } of all) for (const topic of ['other', 'room']) ws.subscribe(topic);
      say(server, 'first');
      for (const { client } of all) client.pause();
      // Messages of 65,536 bytes and more are handed over at the end of the tick only.
      for (const size of [1000, 60_000, 65_535, 65_536, 2_100_000]) {
        let [count, waiting, hasRoom] = [0, 0, true];
        t.true(a.ws.send('there is room'));
        while (hasRoom && count < 100_000_000 / size) {
          if (count++ % 2) say(server, Buffer.alloc(size), { except: c.ws });
          else say(server, Buffer.alloc(size));
          if (size > 1000 || count % 16 === 0) await turn();
          waiting = a.ws.bufferedAmount;
          if (waiting < MARK) continue;
          // It may look once in 16 KiB.
          for (let n = 0; hasRoom && n < 3; n++) hasRoom = a.ws.send('no room'.padEnd(8192));
          // Between the look and the send the reactor may have written so much that there is room.
          if (a.ws.bufferedAmount >= MARK) break;
        }
        t.true(waiting >= MARK, `${count} of ${size} bytes`);
        t.false(hasRoom, `${count} of ${size} bytes`);
        for (const { client } of all) client.resume();
        b.ws.send(new Blob(['late']));
        say(server, 'last');
        // Messages that were published before the connection leaves are on their way.
        a.ws.unsubscribe('room');
        for (const heard of await heardBy(a, b, c)) t.is(heard.findLast((one) => typeof one === 'string'), 'last');
        a.ws.subscribe('room');
        // The callback of a send that follows: the kernel has all before it.
        for (const { ws } of all) await new Promise((resolve) => ws.send('', resolve));
        t.deepEqual(all.map(({ ws }) => ws.bufferedAmount), [0, 0, 0]);
        t.deepEqual(all.map(({ ws }) => settled(ws)), all.map(({ ws }) => ws._accepted));
        for (const { client } of all) client.pause();
      }
      for (const { client } of all) client.resume();
    });
  }
}

everyWay(test, 'without clientTracking the first broadcast reaches all, too', async (t, start, way) => {
  const { server, all } = await openRoom(t, way, 2, { clientTracking: false });
  t.is(server.clients, undefined);
  t.is(server.broadcast('first'), 2);
  all.push(await join(t, server));
  t.is(server.broadcast('second'), 3);
  t.deepEqual(await heardBy(...all), [['first', 'second'], ['first', 'second'], ['second']]);
  const closed = all.map(({ ws }) => once(ws, 'close'));
  for (const { ws } of all) ws.terminate();
  await Promise.all(closed);
  t.is(server.broadcast('to nobody'), 0);
  t.false(connections().some((ws) => all.some((one) => one.ws === ws)));
}, TOPIC_WAYS);

for (const clientTracking of [true, false]) {
  everyWay(test, `a broadcast reaches what a setSocket() of the program opens late, clientTracking ${clientTracking}`, async (t, start, way) => {
    class Kept extends WebSocket {
      setSocket(...args) {
        this.begin = () => super.setSocket(...args);
      }
    }
    const { server, all } = await openRoom(t, way, 2, { WebSocket: Kept, clientTracking });
    const [early, late] = all;
    early.ws.begin();
    t.is(server.broadcast('first'), 1);
    late.ws.on('open', () => t.is(server.broadcast('open'), 2));
    late.ws.begin();
    all.push(await join(t, server));
    t.is(server.broadcast('two are open'), 2);
    all[2].ws.begin();
    t.is(server.broadcast('last'), 3);
    t.deepEqual(await heardBy(...all), [['first', 'open', 'two are open', 'last'], ['open', 'two are open', 'last'], ['last']]);
    for (const { ws } of all) ws.terminate();
  }, TOPIC_WAYS);
}

test('clients that are no list: each broadcast throws, and the next one with a list reaches all', async (t) => {
  const { server, all } = await openRoom(t, 'port', 2);
  const { clients } = server;
  server.clients = { add() {}, delete() {} };
  t.throws(() => server.broadcast('1'), { instanceOf: TypeError });
  t.throws(() => server.broadcast('2'), { instanceOf: TypeError });
  server.clients = new Set([null, {}, ...clients]);
  t.is(server.broadcast('3'), 2);
  t.deepEqual(await heardBy(...all), [['3'], ['3']]);
  server.clients = clients;
});

test('what a program takes out of clients gets a broadcast all the same, the first one and the next', async (t) => {
  const { server, all } = await openRoom(t, 'port', 2);
  for (const text of ['first', 'second']) {
    server.clients.delete(all[0].ws);
    t.is(server.broadcast(text), 2);
  }
  for (const heard of await heardBy(...all)) t.deepEqual(heard, ['first', 'second']);
});

for (const [how, say] of Object.entries(SAID)) {
  test(`${how}() is one record, however many connections there are`, async (t) => {
    const records = [];
    const { push } = outbox;
    t.teardown(() => (outbox.push = push));
    for (const count of [2, 20]) {
      const { server, all } = await openRoom(t, 'port', count);
      for (const { ws } of all) ws.subscribe('room');
      say(server, 'first');
      let pushed = 0;
      outbox.push = (...record) => {
        pushed++;
        return push(...record);
      };
      say(server, 'second');
      records.push(pushed);
      for (const heard of await heardBy(...all)) t.deepEqual(heard, ['first', 'second']);
    }
    t.deepEqual(records, [1, 1]);
  });
}

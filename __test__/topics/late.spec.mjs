// Subscribers while sends of their connection wait: for compression, a Blob, or the past.
import { randomBytes } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';

import { catchUncaught, heardBy, join, openRoom, test } from '../helpers/index.mjs';

const SIZE = 10_000;
const LIMIT = 64 * 1024;
const COUNT = 1000;
/** What a stream of Node has taken beside that. */
const IN_STREAM = 64 * 1024;

const numbers = (heard) => heard.map((text) => Number.parseInt(text, 10));
const upTo = (count) => Array.from({ length: count }, (_, n) => n);
/** Half of it is left when it is compressed. */
const message = (n, size) => `${n} `.padEnd(8, ' ') + randomBytes(size / 2).toString('hex');

/** A Blob that is not read before `ready` says so. */
class Late extends Blob {
  async arrayBuffer() {
    await once(ready, 'ready');
    return super.arrayBuffer();
  }
}
const ready = new EventEmitter();

for (const slow of ['drop', 'latest', 'catch-up', 'since']) {
  test(`stream: with compression, too, no more than limit waits for one that does not read, ${slow}`, async (t) => {
    const settings = { history: 2 * COUNT, limit: LIMIT, slow: slow === 'since' ? 'catch-up' : slow };
    const { server, all } = await openRoom(t, 'stream', 1, { historyBudget: 0, perMessageDeflate: true, topicOptions: () => settings });
    const [{ ws, client, heard }] = all;
    let dropped = 0;
    ws.on('dropped', (topic, count) => (dropped += count));
    client._socket.pause();
    if (slow !== 'since') ws.subscribe('room');
    for (let n = 0; n < COUNT; n++) server.publish('room', message(n, SIZE));
    if (slow === 'since') ws.subscribe('room', { since: 'oldest' });
    let most = 0;
    for (const until = Date.now() + 200; Date.now() < until; await turn()) most = Math.max(most, ws.bufferedAmount);
    t.true(most <= LIMIT + SIZE + IN_STREAM, `${most} bytes waited`);
    client._socket.resume();
    while (heard.length + dropped < COUNT) await turn();
    t.deepEqual(numbers(heard), numbers(heard).sort((a, b) => a - b));
    t.deepEqual([heard.length + dropped, dropped !== 0], [COUNT, slow === 'drop' || slow === 'latest']);
  });
}

for (const way of ['port', 'server', 'stream']) {
  test.serial(`${way}: what is published passes a Blob that is being read`, async (t) => {
    const { server, all } = await openRoom(t, way, 2, { topicOptions: () => ({ history: 10 }) });
    const [{ ws, client, heard }, other] = all;
    const { position } = await new Promise((resolve) => ws.subscribe('room', {}, resolve));
    ws.send('before');
    ws.send(new Late(['blob']), { binary: false });
    ws.send('after');
    const { position: next } = await server.publish('room', 'live', { receipt: true });
    t.is(next.offset - position.offset, 1);
    server.broadcast('to all');
    ws.subscribe('other', { since: 'oldest' });
    other.ws.publish('other', 'of another');
    t.true(ws.unsubscribe('room'));
    server.publish('room', 'for nobody');
    while (heard.length < 4) await once(client, 'message');
    t.true(ws.bufferedAmount >= 'blob'.length);
    ready.emit('ready');
    const wanted = ['before', 'live', 'to all', 'of another', 'blob', 'after'];
    t.deepEqual(await heardBy(all[0]), [wanted]);
  });
}

test('stream: what has a place among the sends that wait is not reported as dropped', async (t) => {
  const settings = { history: 100, slow: 'catch-up', limit: 100 * LIMIT };
  const { server, all } = await openRoom(t, 'stream', 1, { perMessageDeflate: true, topicOptions: () => settings });
  all[0].ws.subscribe('room');
  for (let n = 0; n < 5; n++) server.publish('room', message(n, 20 * SIZE));
  const one = await join(t, server);
  one.ws.on('dropped', (topic, count) => t.fail(`${count} dropped`));
  const answered = new Promise((resolve) => one.ws.subscribe('room', { since: 'oldest' }, resolve));
  for (let n = 5; n < 10; n++) server.publish('room', message(n, 20 * SIZE));
  t.is((await answered).replayed, 5);
  t.true(one.ws.unsubscribe('room'));
  server.publish('room', 'none');
  const [heard] = await heardBy(one);
  t.deepEqual(numbers(heard), upTo(10));
});

for (const way of ['port', 'stream']) {
  for (const slow of ['queue', 'catch-up']) {
    test.serial(`${way}: a subscription behind a Blob, whose callback sends, or throws, ${slow}`, async (t) => {
      const { server, all } = await openRoom(t, way, 2, { topicOptions: () => ({ history: 10, slow }) });
      server.publish('room', 'past');
      const [sends, throws] = all;
      for (const { ws } of all) ws.send(new Late(['blob']), { binary: false });
      sends.ws.subscribe('room', { since: 'oldest' }, () => sends.ws.send('of the callback'));
      throws.ws.subscribe('room', { since: 'oldest' }, () => {
        throw new Error('mine');
      });
      for (const { ws } of all) ws.send('a');
      server.publish('room', 'live');
      for (const { ws } of all) ws.send('b');
      catchUncaught(t);
      const uncaught = once(process, 'uncaughtException');
      // Behind the answer about the history.
      await server.history('room');
      ready.emit('ready');
      const [{ message: thrown }] = await uncaught;
      t.is(thrown, 'mine');
      // A published message overtakes the Blob.
      const expected = ['past', 'live', 'blob', 'a', 'b'];
      t.deepEqual(await heardBy(...all), [[...expected, 'of the callback'], expected]);
    });
  }
}

for (const way of ['port', 'stream']) {
  test.serial(`${way}: a long history comes whole, whatever is published meanwhile`, async (t) => {
    const { server, all } = await openRoom(t, way, 1, { historyBudget: 0, topicOptions: () => ({ history: COUNT }) });
    const long = 1024 * 1024;
    for (let n = 0; n < 20; n++) server.publish('room', `${n} `.padEnd(long, 'x'));
    const offsets = async (options) => {
      const { recovered, messages } = await server.history('room', options);
      t.true(recovered && messages.every(({ data, position }) => Number.parseInt(data.toString('latin1', 0, 8), 10) === position.offset - 1));
      return messages.map(({ position }) => position.offset - 1);
    };
    const asked = [offsets(), offsets({ limit: 1 }), offsets({ limit: 17 })];
    const answered = new Promise((resolve) => all[0].ws.subscribe('room', { since: 'oldest' }, resolve));
    for (let n = 20; n < 25; n++) server.publish('room', `${n} `);
    t.deepEqual(await Promise.all(asked), [upTo(20), [0], upTo(17)]);
    t.like(await answered, { recovered: true, replayed: 20 });
    const [heard] = await heardBy(all[0]);
    t.deepEqual(numbers(heard), upTo(25));
  });
}

// Topics: connections of every kind, wrong arguments, many names, and names of programs' own.
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { WebSocket } from '../../lib/index.mjs';
import { Child, heardBy, openRoom, test } from '../helpers/index.mjs';

const require = createRequire(import.meta.url);
const { batch } = require('../../lib/reactor/batch.js');
const { prometheus } = require('reactor-ws/prometheus');

// Alone: messages of other tests would move the place of the next batch.
test.serial('answers leave the memory of their batches to the next ones', async (t) => {
  const { server, all } = await openRoom(t, 'port', 1);
  const ask = async () => {
    server.publish('room', 'one');
    await new Promise((resolve) => all[0].ws.subscribe('room', {}, resolve));
    return [batch.buffer, batch.base];
  };
  const [buffer, base] = await ask();
  for (let n = 0; n < 20; n++) {
    const [later, place] = await ask();
    t.true(later === buffer && place === base, `${n}: ${place}, not ${base}`);
  }
});

test('what is wrong throws, and names the argument', async (t) => {
  const { server, all } = await openRoom(t, 'port', 1);
  const [{ ws }] = all;
  const wrong = [
    [() => ws.subscribe(1), TypeError, 'topic must be a string. Received 1'],
    [() => ws.subscribe('a', 1), TypeError, 'options must be an object. Received 1'],
    [() => ws.subscribe('a', {}, 1), TypeError, 'callback must be a function. Received 1'],
    [() => ws.subscribe('a', { since: 1 }), TypeError, "options.since must be a position or 'oldest'. Received 1"],
    [() => ws.subscribe('a', { since: {} }), TypeError, 'options.since.epoch must be a string. Received undefined'],
    [() => ws.subscribe('a', { since: { epoch: '', offset: '1' } }), TypeError, "options.since.offset must be a number. Received '1'"],
    [
      () => ws.subscribe('a', { since: { epoch: '', offset: -1 } }),
      RangeError,
      'options.since.offset must be an integer from 0 to 9007199254740991. Received -1',
    ],
    [() => ws.unsubscribe(), TypeError, 'topic must be a string. Received undefined'],
    [() => ws.isSubscribed(null), TypeError, 'topic must be a string. Received null'],
    [() => ws.publish({}, ''), TypeError, 'topic must be a string. Received {}'],
    [() => server.publish(Symbol('a'), ''), TypeError, 'topic must be a string. Received Symbol(a)'],
    [() => server.publish('a', '', true), TypeError, 'options must be an object. Received true'],
    [() => server.publish('a', '', { key: 1 }), TypeError, 'options.key must be a string. Received 1'],
    [() => server.publish('a', '', { receipt: 1 }), TypeError, 'options.receipt must be a boolean. Received 1'],
    [() => server.publish('a', '', { fin: false }), TypeError, 'options.fin must be true: a message is published whole. Received false'],
    [() => server.publish('a', '', { except: 1 }), TypeError, 'options.except must be a WebSocket, or a Set or an array of them. Received 1'],
    [() => server.publish('a', '', { except: [1] }), TypeError, 'options.except must be of WebSockets only. Received 1'],
    [() => server.subscriberCount(1), TypeError, 'topic must be a string. Received 1'],
    [() => server.history(1), TypeError, 'topic must be a string. Received 1'],
    [() => server.history('a', { limit: 'x' }), TypeError, "options.limit must be a number. Received 'x'"],
    [() => server.history('a', { limit: 0 }), RangeError, 'options.limit must be an integer from 1 to 4294967295. Received 0'],
  ];
  for (const [call, type, message] of wrong) {
    const error = t.throws(call, undefined, message);
    t.is(error.constructor, type, message);
    t.is(error.message, message);
  }
  t.throws(() => server.publish('a', new Blob(['x'])), { instanceOf: TypeError, message: /^data must be read/ });
  t.throws(() => server.publish('a', {}), { instanceOf: TypeError, code: 'ERR_INVALID_ARG_TYPE' });
  t.throws(() => server.broadcast('a', { except: 'x' }), { instanceOf: TypeError });
  t.deepEqual([...server.topics()], []);
});

test('a WebSocket without a server has no topics; a connecting one throws', async (t) => {
  const ws = new WebSocket(null);
  t.throws(() => ws.subscribe('a'), { instanceOf: TypeError, message: 'Only connections of a WebSocketServer have topics' });
  t.throws(() => ws.publish('a', ''), { instanceOf: TypeError });
  t.false(ws.isSubscribed('a'));
  t.deepEqual(ws.subscriptions, []);
});

test('programs may give connections and servers fields of these names', async (t) => {
  const { server, all } = await openRoom(t, 'port', 1);
  const [one] = all;
  one.ws.subscriptions = new Set(['mine']);
  t.deepEqual([...one.ws.subscriptions], ['mine']);
  server.topics = new Map();
  one.ws.subscribe('a');
  server.publish('a', 'x');
  t.deepEqual(await heardBy(one), [['x']]);
});

test('topicOptions may subscribe to the topic that is published', async (t) => {
  for (const history of [0, 1]) {
    let asked = 0;
    const { server, all } = await openRoom(t, 'port', 1, {
      topicOptions(topic) {
        if (asked++ === 0) all[0].ws.subscribe(topic);
        return { history };
      },
    });
    t.is(server.publish('room', 'one'), 1);
    t.deepEqual(await heardBy(...all), [['one']]);
  }
});

for (const way of ['port', 'server', 'stream']) {
  for (const end of ['close', 'terminate']) {
    for (const history of [0, 10]) {
      test(`${way}: topicOptions that ends the connection with ${end}(), history ${history}`, async (t) => {
        const { server, all } = await openRoom(t, way, 1, {
          topicOptions: () => {
            all[0].ws[end]();
            return { history };
          },
        });
        const [{ ws, client }] = all;
        const result = new Promise((resolve) => t.false(ws.subscribe('room', { since: 'oldest' }, resolve)));
        t.deepEqual(await result, { recovered: false, position: null, replayed: 0 });
        t.deepEqual([server.subscriberCount('room'), [...server.topics()], ws.subscriptions], [0, [], []]);
        t.false(ws.isSubscribed('room'));
        if (client.readyState !== client.CLOSED) await once(client, 'close');
      });
    }
  }
}

test('numbers of topics are used again, whatever becomes of slow members', async (t) => {
  const { server, all } = await openRoom(t, 'port', 2, { topicOptions: (name) => ({ slow: name === 'other' ? 'queue' : name.split(' ')[0] }) });
  const numbers = new Set();
  for (let n = 0; n < 60; n++) {
    const name = `${['queue', 'drop', 'latest', 'close'][n % 4]} ${n}`;
    for (const { ws } of all) ws.subscribe(name);
    numbers.add(server._topics.all.get(name).number);
    server.publish(name, `${n}`);
    for (const { ws } of all) ws.unsubscribe(name);
    // After the last report about it.
    for (let turns = 0; turns < 2; turns++) await new Promise((resolve) => all[0].ws.subscribe('other', resolve));
    await heardBy(...all);
  }
  t.true(numbers.size < 20, `${numbers.size} numbers`);
});

test('a name that was cut out of a long text does not keep that text', async (t) => {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc');
  const { all } = await openRoom(t, 'port', 1);
  // A text of 1 MiB would be outside of the heap.
  const [count, size] = [100, 256 * 1024];
  gc();
  const before = process.memoryUsage().heapUsed;
  for (let n = 0; n < count; n++) {
    const text = Buffer.alloc(size, `${n} is the name of a topic, `).toString('latin1');
    all[0].ws.subscribe(text.slice(0, 20) + '');
  }
  const lone = `room \ud800 ${'x'.repeat(20)}`;
  all[0].ws.subscribe(lone);
  gc();
  t.true(process.memoryUsage().heapUsed - before < (count * size) / 2);
  t.true(all[0].ws.isSubscribed(lone));
  t.is(all[0].ws.subscriptions.at(-1), lone);
});

for (const way of ['port', 'server', 'stream']) {
  test(`${way}: a connection in many topics leaves all of them, some in each turn`, async (t) => {
    const { server, all } = await openRoom(t, way, 2);
    const [one, other] = all;
    const count = 10_000;
    for (let n = 0; n < count; n++) {
      one.ws.subscribe(`${n}`);
      if (n % 2 === 0) other.ws.subscribe(`${n}`);
    }
    one.ws.close();
    t.deepEqual([one.ws.subscriptions, one.ws.isSubscribed('0'), one.ws.isSubscribed(`${count - 1}`)], [[], false, false]);
    for (const n of [0, 1, count - 2, count - 1]) server.publish(`${n}`, `${n}`);
    const [heard] = await heardBy(other);
    t.deepEqual(heard, ['0', `${count - 2}`]);
    while ([...server.topics()].length !== count / 2) await turn();
    t.true([...server.topics()].every(([, size]) => size === 1));
    if (one.client.readyState !== one.client.CLOSED) await once(one.client, 'close');
    t.false(one.heard.length !== 0);
  });
}

test('the promise of a history keeps the process alive', async (t) => {
  for (const reactors of [0, 1, 3]) {
    const child = new Child(t, 'awaiting.mjs', [], { env: { REACTOR_WS_REACTORS: String(reactors) } });
    const { code, stdout, stderr } = await child.ended();
    t.deepEqual([code, stdout, stderr], [0, 'settled\n', '']);
  }
});

test('dropped messages by topic: twenty names, which are valid labels, and others', async (t) => {
  const { server } = await openRoom(t, 'port', 0);
  const long = 'x'.repeat(200);
  const names = ['\ud800', '\ud801', '__proto__', long, `${long}x`, ...Array.from({ length: 25 }, (_, n) => `topic ${n}`)];
  for (const name of names) server._counts.lost(name, 1);
  const others = Array.from({ length: 16 }, (_, n) => [`topic ${n}`, 1]);
  t.deepEqual(Object.entries(server.metrics().dropped), [['\ufffd', 2], ['__proto__', 1], [long, 1], ['other', 10], ...others]);
  t.true(prometheus(server).includes('reactor_ws_topic_dropped_total{topic="__proto__"} 1\n'));
});

// Topics for connections of every kind. Recipients, the order and replays: topics-model.spec.mjs.
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { setImmediate as turn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';

import { TOPIC_WAYS, everyWay, heardBy, isInline, join, openRoom, test, urlOf } from '../helpers/index.mjs';

/** Topics are any strings. */
const NAMES = ['a', 'b', '', '__proto__', '\0', '\u{d800}', '\u{d801}', 'A', 'a '.repeat(100_000)];
const LONG = 'x'.repeat(100_000);
const DATA = ['', 'text', 'ä'.repeat(3000), 42, Buffer.from([1, 2, 3]), new Float64Array([1, 2]), LONG, Buffer.alloc(200_000, 7)];

everyWay(test, 'every kind of data', async (t, start, way) => {
  const { server, all } = await openRoom(t, way, 3);
  for (const { ws } of all) ws.subscribe('data');
  for (const data of DATA) t.is(server.publish('data', data), 3);
  server.publish('data', Buffer.from('as text'), { binary: false });
  server.publish('data', 'as bytes', { binary: true });
  const plain = (data) => {
    if (typeof data === 'string' || typeof data === 'number') return String(data);
    return Buffer.from(data.buffer ?? data, data.byteOffset, data.byteLength);
  };
  const wanted = [...DATA.map(plain), 'as text', Buffer.from('as bytes')];
  for (const heard of await heardBy(...all)) t.deepEqual(heard, wanted);
}, TOPIC_WAYS);

everyWay(test, 'except: one, an array, a Set, one that is no member', async (t, start, way) => {
  const { server, all } = await openRoom(t, way, 4);
  const [a, b, c, d] = all;
  for (const { ws } of [a, b, c]) ws.subscribe('room');
  t.is(server.publish('room', '1', { except: a.ws }), 2);
  t.is(server.publish('room', '2', { except: [a.ws, b.ws] }), 1);
  t.is(server.publish('room', '3', { except: new Set([c.ws, d.ws, c.ws]) }), 2);
  t.is(a.ws.publish('room', '4', { except: b.ws }), 1);
  t.is(server.publish('room', '5', { except: [] }), 3);
  t.deepEqual(await heardBy(a, b, c), [['3', '5'], ['1', '3', '5'], ['1', '2', '4', '5']]);
}, TOPIC_WAYS);

everyWay(test, 'subscriptions, isSubscribed, counts; twice is once', async (t, start, way) => {
  const { server, all } = await openRoom(t, way, 2);
  const [a, b] = all;
  t.deepEqual(a.ws.subscriptions, []);
  t.false(a.ws.unsubscribe('a'));
  for (const topic of [...NAMES, 'a']) t.true(a.ws.subscribe(topic));
  b.ws.subscribe('a');
  t.deepEqual(a.ws.subscriptions, NAMES);
  t.deepEqual([...server.topics()], NAMES.map((topic) => [topic, topic === 'a' ? 2 : 1]));
  t.is(server.subscriberCount('a'), 2);
  t.is(server.subscriberCount('none'), 0);
  t.true(a.ws.isSubscribed(''));
  t.false(b.ws.isSubscribed(''));
  t.is(server.publish('a', 'once'), 2);
  for (const topic of NAMES.slice(1)) t.is(server.publish(topic, 'too'), 1);
  t.deepEqual(await heardBy(a, b), [['once', ...NAMES.slice(1).map(() => 'too')], ['once']]);
  t.true(a.ws.unsubscribe('a'));
  t.false(a.ws.unsubscribe('a'));
  t.is(server.subscriberCount('a'), 1);
}, TOPIC_WAYS);

everyWay(test, "legal in every callback, in 'close' of the server and after it", async (t, start, way) => {
  const seen = [];
  const act = (where, ws) => {
    // Each time, for some callbacks run twice.
    seen.push(where);
    ws.subscribe(`of ${where}`, () => server.publish('acts', `called ${where}`));
    ws.publish('acts', where);
    server.publish(`of ${where}`, where);
    server.broadcast(where);
    ws.unsubscribe(`of ${where}`);
  };
  const topicOptions = (topic) => {
    if (topic === 'nested' && !seen.includes('topicOptions')) {
      seen.push('topicOptions');
      a.ws.subscribe('nested');
      act('topicOptions', a.ws);
    }
    return topic === 'lossy' ? { slow: 'catch-up', limit: 0, history: 1 } : {};
  };
  let a = null;
  const { server, all } = await openRoom(t, way, 2, { topicOptions });
  const b = all[1];
  [a] = all;
  b.ws.subscribe('acts');
  for (const event of ['ping', 'pong', 'message', 'error', 'drain', 'gap']) a.ws.once(event, () => act(event, a.ws));
  server.once('connection', (ws) => act('connection', ws));
  await join(t, server);
  a.ws.subscribe('nested');
  t.deepEqual(a.ws.subscriptions, ['nested']);
  a.ws.send('x', () => act('send', a.ws));
  a.ws.ping('x', false, () => act('ping()', a.ws));
  a.client.ping();
  a.client.send('x');
  await once(a.ws, 'message');
  await server.publish('nested', 'x', { receipt: true }).then(() => act('receipt', a.ws));
  // More than the kernel takes, of which all but the last one is lost.
  a.ws.subscribe('lossy');
  const early = ['connection', 'topicOptions', 'send', 'ping()', 'ping', 'pong', 'message', 'receipt', 'gap', 'drain'];
  while (!early.every((name) => seen.includes(name))) {
    a.client.pause();
    for (let waiting = 0; waiting < 2; ) {
      server.publish('lossy', 'y'.repeat(100_000));
      await turn();
      if (a.ws.bufferedAmount !== 0) waiting++;
    }
    for (let n = 0; n < 3; n++) server.publish('lossy', 'y'.repeat(100_000));
    while (a.ws.send('x'.repeat(100_000)));
    a.client.resume();
    while (a.ws.bufferedAmount !== 0) await turn();
  }
  const heardUntil = async (text) => {
    b.ws.send(text);
    while (!b.heard.includes(text)) await once(b.client, 'message');
    return b.heard.splice(0, b.heard.indexOf(text));
  };
  await heardUntil('all before');
  a.ws.once('close', () => act('close', a.ws));
  a.client._socket.write(Buffer.from([0xff, 0x80, 0, 0, 0, 0]));
  await new Promise((resolve) => a.ws.once('close', resolve));
  const heard = await heardUntil('the end');
  t.deepEqual(heard.filter((text) => !text.startsWith('called')), ['all before', 'error', 'error', 'close', 'close']);
  const over = once(server, 'close').then(() => act('over', b.ws));
  b.ws.terminate();
  server.clients.forEach((ws) => ws.terminate());
  server.close();
  server.options.server?.close();
  await over;
  t.deepEqual([server.publish('acts', 'x'), server.broadcast('x'), [...server.topics()]], [0, 0, []]);
}, TOPIC_WAYS);

everyWay(test, 'the callback of subscribe is called when it is a member', async (t, start, way) => {
  const { all } = await openRoom(t, way, 1);
  const [{ ws }] = all;
  let isCalled = false;
  const result = await new Promise((resolve) => {
    ws.subscribe('room', (given) => {
      isCalled = true;
      resolve(given);
    });
    t.false(isCalled);
  });
  t.deepEqual(result, { recovered: false, position: null, replayed: 0 });
  const results = [];
  ws.subscribe('room', { since: { epoch: 'x', offset: 1 } }, (given) => results.push(given));
  ws.terminate();
  await once(ws, 'close');
  t.deepEqual(results, [{ recovered: false, position: null, replayed: 0 }]);
}, TOPIC_WAYS);

// uWebSockets.js ends the process when a callback subscribes while a publish runs.
test('a subscription, an unsubscription and a publish inside a publish', async (t) => {
  const { server, all } = await openRoom(t, 'stream', 4, { topicOptions: () => ({ history: 10 }) });
  const [a, b, c, d] = all;
  for (const { ws } of [a, b, d]) ws.subscribe('room');
  // A stream writes inside the call: its callbacks run in the middle of the publish.
  const { socket } = a.ws._extra.stream;
  const { _write } = socket;
  let writes = 0;
  let inside;
  socket._write = function write(...args) {
    if (writes++ === 0) {
      t.true(c.ws.subscribe('room'));
      t.true(b.ws.unsubscribe('room'));
      inside = server.publish('room', 'inside', { receipt: true });
    }
    return _write.apply(this, args);
  };
  const outside = server.publish('room', 'outside', { receipt: true });
  while (writes === 0) await once(a.client, 'message');
  t.deepEqual([...server.topics()], [['room', 3]]);
  const receipts = await Promise.all([outside, inside]);
  t.deepEqual(receipts.map(({ position }) => position.offset), [1, 2]);
  t.is(server.publish('room', 'behind'), 3);
  const wanted = ['outside', 'inside', 'behind'];
  t.deepEqual(await heardBy(a, b, c, d), [wanted, ['outside'], ['inside', 'behind'], wanted]);
});

const READER = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { WebSocket } = require(workerData.ws);
  const client = new WebSocket(workerData.url);
  let left = workerData.count;
  client.on('message', () => {
    if (--left !== 0) return;
    Atomics.store(workerData.flag, 0, 1);
    Atomics.notify(workerData.flag, 0);
  });
`;

test('what was published goes on while JavaScript is blocked', async (t) => {
  if (isInline) return t.pass('without a thread it does not');
  const server = await TOPIC_WAYS.port(t);
  const count = 300;
  const flag = new Int32Array(new SharedArrayBuffer(4));
  const workerData = { count, flag, url: urlOf(server), ws: createRequire(import.meta.url).resolve('ws') };
  const reader = new Worker(READER, { eval: true, workerData });
  t.teardown(() => reader.terminate());
  const [ws] = await once(server, 'connection');
  // Its answer may wait for the ends of other connections, of which JavaScript hears.
  await new Promise((resolve) => ws.ping(resolve));
  ws.subscribe('room');
  // More than the kernel takes, and from several arenas.
  for (let n = 0; n < count; n++) server.publish('room', `${n} `.padEnd(60_000, 'x'));
  await turn();
  t.not(Atomics.wait(flag, 0, 0, 60_000), 'timed-out');
  t.is(Atomics.load(flag, 0), 1);
});

// History, positions, and subscribers that come back.
import { setImmediate as turn } from 'node:timers/promises';

import { TOPIC_WAYS, WebSocketServer, heardBy, openRoom, startServer, test } from '../helpers/index.mjs';

const WAYS = Object.keys(TOPIC_WAYS);
const subscribe = (ws, topic, options) => new Promise((resolve) => ws.subscribe(topic, options, resolve));
const kept = (history) => ({ topicOptions: () => ({ history }) });
const texts = ({ messages }) => messages.map(({ data }) => data.toString());
const offsets = ({ messages }) => messages.map(({ position }) => position.offset);

for (const way of WAYS) {
  test(`${way}: recovered is false, and nothing is replayed, when something is missing`, async (t) => {
    const { server, all } = await openRoom(t, way, 1, kept(3));
    const [a] = all;
    const { position } = await subscribe(a.ws, 'room');
    const { epoch } = position;
    for (let n = 1; n <= 5; n++) server.publish('room', String(n));
    await heardBy(a);
    const top = { epoch, offset: 5 };
    // Offsets 3, 4 and 5 are there.
    const cases = [
      [{ epoch, offset: 5 }, true, []],
      [{ epoch, offset: 4 }, true, ['5']],
      [{ epoch, offset: 2 }, true, ['3', '4', '5']],
      [{ epoch, offset: 1 }, false, []],
      [{ epoch, offset: 0 }, false, []],
      [{ epoch, offset: 6 }, false, []],
      [{ epoch, offset: Number.MAX_SAFE_INTEGER }, false, []],
      [{ epoch: 'another', offset: 4 }, false, []],
      ['oldest', true, ['3', '4', '5']],
      [undefined, false, []],
    ];
    for (const [since, recovered, replayed] of cases) {
      a.ws.unsubscribe('room');
      const result = await subscribe(a.ws, 'room', { since });
      t.deepEqual(result, { recovered, position: top, replayed: replayed.length }, JSON.stringify(since));
      t.deepEqual(await heardBy(a), [replayed]);
    }
    server.publish('room', '6');
    t.deepEqual(await heardBy(a), [['6']]);
  });

  test(`${way}: all kinds of messages are replayed as they were`, async (t) => {
    const { server, all } = await openRoom(t, way, 2, { perMessageDeflate: { threshold: 0 }, ...kept(100) });
    const [a, b] = all;
    const long = 'x'.repeat(100_000);
    for (const data of ['text', Buffer.from([1, 2]), '', Buffer.alloc(0), long, 'ready', Buffer.from([3]), 'ä']) {
      t.is(server.publish('room', data), 0);
    }
    const wanted = ['text', Buffer.from([1, 2]), '', Buffer.alloc(0), long, 'ready', Buffer.from([3]), 'ä'];
    const results = await Promise.all([a, b].map(({ ws }) => subscribe(ws, 'room', { since: 'oldest' })));
    for (const { recovered, replayed } of results) t.deepEqual([recovered, replayed], [true, 8]);
    for (const heard of await heardBy(a, b)) t.deepEqual(heard, wanted);
    const history = await server.history('room');
    t.deepEqual(history.messages.map(({ data, isBinary }) => (isBinary ? data : data.toString())), wanted);
  });

  test(`${way}: what is replayed comes before what was sent after the call, in order, also when it is compressed`, async (t) => {
    const { server, all } = await openRoom(t, way, 1, { perMessageDeflate: { threshold: 0 }, ...kept(100) });
    const [{ ws }] = all;
    const wanted = [];
    for (let n = 0; n < 20; n++) {
      wanted.push(`${n} ${'x'.repeat(10_000 * (n % 8))}`);
      server.publish('room', wanted[n]);
    }
    ws.send(wanted[0]);
    const result = subscribe(ws, 'room', { since: 'oldest' });
    ws.send('behind');
    server.publish('room', 'live');
    t.deepEqual((await result).replayed, 20);
    t.deepEqual(await heardBy(all[0]), [[wanted[0], ...wanted, 'behind', 'live']]);
  });

  test(`${way}: 'catch-up' keeps the order of the calls behind a replay, in which it may be excepted, leave and come back`, async (t) => {
    const { server, all } = await openRoom(t, way, 1, { topicOptions: () => ({ history: 100, slow: 'catch-up' }) });
    const [{ ws }] = all;
    const { position } = await server.publish('room', '1', { receipt: true });
    ws.subscribe('room', { since: 'oldest' });
    ws.send('a');
    server.publish('room', '2');
    ws.send('b');
    server.publish('room', '3', { except: ws });
    server.publish('room', '4');
    ws.send('c');
    ws.unsubscribe('room');
    server.publish('room', '5');
    ws.send('d');
    ws.subscribe('room', { since: { ...position, offset: 4 } });
    ws.send('e');
    server.publish('room', '6');
    t.deepEqual(await heardBy(all[0]), [['1', 'a', '2', 'b', '4', 'c', 'd', '5', 'e', '6']]);
  });

  test(`${way}: a message to itself is not replayed to a live member, whatever waits for a Blob`, async (t) => {
    const { server, all } = await openRoom(t, way, 2, kept(100));
    const [a, b] = all;
    const { position } = await subscribe(a.ws, 'room');
    server.publish('room', '1');
    a.ws.send(new Blob(['blob']), { binary: false });
    server.publish('room', '2');
    a.ws.send('sent');
    b.ws.send(new Blob(['blob']), { binary: false });
    b.ws.subscribe('room', { since: position });
    server.publish('room', '3');
    b.ws.send('sent');
    a.ws.publish('room', '4');
    const [ofA, ofB] = await heardBy(a, b);
    for (const heard of [ofA, ofB]) t.deepEqual(heard.filter(isNaN), ['blob', 'sent']);
    t.deepEqual([ofA, ofB].map((heard) => heard.filter((text) => !isNaN(text))), [['1', '2', '3'], ['1', '2', '3', '4']]);
  });
}

test('history: since, limit, and topics without', async (t) => {
  const server = await startServer(t, { topicOptions: (topic) => ({ history: topic === 'kept' ? 5 : 0 }) });
  t.deepEqual(await server.history('kept'), { recovered: false, position: null, messages: [] });
  t.is(server.publish('kept', '1'), 0);
  t.is(server.publish('other', '1'), 0);
  t.deepEqual([...server.topics()], [['kept', 0]]);
  for (let n = 2; n <= 7; n++) server.publish('kept', String(n));
  const all = await server.history('kept');
  t.deepEqual(texts(all), ['3', '4', '5', '6', '7']);
  t.deepEqual(offsets(all), [3, 4, 5, 6, 7]);
  t.true(all.recovered);
  const { epoch } = all.position;
  t.deepEqual(all.position, { epoch, offset: 7 });
  t.deepEqual(texts(await server.history('kept', { limit: 2 })), ['3', '4']);
  t.deepEqual(texts(await server.history('kept', { since: { epoch, offset: 5 } })), ['6', '7']);
  t.deepEqual(texts(await server.history('kept', { since: { epoch, offset: 5 }, limit: 1 })), ['6']);
  t.deepEqual(texts(await server.history('kept', { since: { epoch, offset: 7 } })), []);
  t.false((await server.history('kept', { since: { epoch, offset: 1 } })).recovered);
  t.deepEqual(await server.history('kept', { since: { epoch: '', offset: 6 } }), {
    recovered: false,
    position: { epoch, offset: 7 },
    messages: [],
  });
});

test('topicOptions is called once for each topic that is made', async (t) => {
  const asked = [];
  const { server, all } = await openRoom(t, 'port', 1, {
    topicOptions(topic) {
      asked.push(topic);
      return topic === 'kept' ? { history: 1 } : undefined;
    },
  });
  const [{ ws }] = all;
  for (let n = 0; n < 3; n++) {
    ws.subscribe('kept');
    ws.subscribe('a');
    server.publish('kept', '1');
    ws.unsubscribe('kept');
  }
  t.deepEqual(asked, ['kept', 'a']);
  ws.unsubscribe('a');
  ws.subscribe('a');
  t.deepEqual(asked, ['kept', 'a', 'a']);
});

test('wrong topicOptions throw where the topic is made, and nothing is made', async (t) => {
  const wrong = [
    [1, TypeError, 'topicOptions() must be an object. Received 1'],
    [Promise.resolve({ history: 1 }), TypeError, 'topicOptions() must be an object, not a Promise. Received Promise { [Object] }'],
    [{ then() {} }, TypeError, 'topicOptions() must be an object, not a Promise. Received { then: [Function: then] }'],
    [{ history: '1' }, TypeError, "topicOptions().history must be a number. Received '1'"],
    [{ history: -1 }, RangeError, 'topicOptions().history must be an integer from 0 to 4294967295. Received -1'],
    [{ ttl: 0 }, RangeError, 'topicOptions().ttl must be an integer from 1 to 2147483647. Received 0'],
    [{ maxBytes: 2 ** 32 }, RangeError, 'topicOptions().maxBytes must be an integer from 1 to 4294967295. Received 4294967296'],
    [{ positionTtl: 0.5 }, RangeError, 'topicOptions().positionTtl must be an integer from 1 to 9007199254740991. Received 0.5'],
    [{ limit: NaN }, RangeError, 'topicOptions().limit must be an integer from 0 to 4294967295. Received NaN'],
    [{ slow: 'fast' }, TypeError, "topicOptions().slow must be 'queue' or 'drop' or 'latest' or 'catch-up' or 'close'. Received 'fast'"],
    [{ slow: 1 }, TypeError, "topicOptions().slow must be 'queue' or 'drop' or 'latest' or 'catch-up' or 'close'. Received 1"],
    [{ slow: 'catch-up' }, RangeError, "topicOptions().history must be 1 or more for slow: 'catch-up'. Received 0"],
  ];
  let given;
  const { server, all } = await openRoom(t, 'port', 1, { topicOptions: () => given });
  const [{ ws }] = all;
  for (const [options, type, message] of wrong) {
    given = options;
    for (const act of [() => ws.subscribe('a'), () => server.publish('a', 'x')]) {
      const error = t.throws(act, undefined, message);
      t.is(error.constructor, type);
      t.is(error.message, message);
    }
  }
  t.deepEqual(ws.subscriptions, []);
  t.deepEqual([...server.topics()], []);
  t.throws(() => new WebSocketServer({ port: 0, topicOptions: {} }), {
    instanceOf: TypeError,
    message: 'options.topicOptions must be a function. Received {}',
  });
  t.throws(() => new WebSocketServer({ port: 0, historyBudget: -1 }), { instanceOf: RangeError });
});

test('maxBytes and ttl: what is gone is not replayed, and the position stays', async (t) => {
  const settings = { bytes: { history: 1000, maxBytes: 100 }, time: { history: 1000, ttl: 20 } };
  const { server, all } = await openRoom(t, 'port', 1, { topicOptions: (topic) => settings[topic] });
  const [{ ws }] = all;
  for (let n = 1; n <= 10; n++) server.publish('bytes', `${n} `.padEnd(30, 'x'));
  const { messages, position } = await server.history('bytes');
  t.deepEqual(messages.map(({ position: { offset } }) => offset), [8, 9, 10]);
  t.deepEqual(position.offset, 10);
  t.false((await subscribe(ws, 'bytes', { since: { ...position, offset: 6 } })).recovered);
  t.true((await subscribe(ws, 'bytes', { since: { ...position, offset: 7 } })).recovered);
  const receipt = await server.publish('time', '1', { receipt: true });
  while ((await server.history('time')).messages.length !== 0) await new Promise((resolve) => setTimeout(resolve, 5));
  t.deepEqual((await server.history('time')).position, receipt.position);
  t.deepEqual(await subscribe(ws, 'time', { since: receipt.position }), { recovered: true, position: receipt.position, replayed: 0 });
  t.false((await subscribe(ws, 'time', { since: { ...receipt.position, offset: 0 } })).recovered);
});

test('a position outlives the messages, and positionTtl the position', async (t) => {
  const settings = { short: { positionTtl: 1 }, long: {} };
  const topicOptions = (topic) => ({ history: 10, ttl: 1, ...settings[topic] });
  const { server, all } = await openRoom(t, 'port', 1, { topicOptions });
  const [{ ws }] = all;
  for (const topic of ['short', 'long']) {
    const { position } = await server.publish(topic, '1', { receipt: true });
    while ((await server.history(topic)).messages.length !== 0 || performance.now() < server._topics.all.get(topic)?.publishedAt + 1) await turn();
    t.deepEqual((await server.history(topic)).position, position);
    // Every ten seconds.
    server._topics.sweep();
    const isKept = topic === 'long';
    t.is(server._topics.all.has(topic), isKept);
    const { recovered, position: now } = await subscribe(ws, topic, { since: position });
    t.is(recovered, isKept);
    t.is(now.offset, isKept ? 1 : 0);
    t.is(now.epoch === position.epoch, isKept);
    // Not one with subscribers.
    server._topics.sweep();
    t.true(server._topics.all.has(topic));
    ws.unsubscribe(topic);
  }
});

/** Resolves when the topic has expired, with `positionTtl: 1`. */
async function expired(server, topic) {
  const { publishedAt } = server._topics.all.get(topic);
  while (performance.now() < publishedAt + 1) await turn();
}

test('topics that have expired are forgotten soon, however many there are', async (t) => {
  const { server } = await openRoom(t, 'port', 1, { topicOptions: () => ({ history: 1, positionTtl: 1 }) });
  for (let n = 0; n < 20_000; n++) server.publish(String(n), '');
  await expired(server, '19999');
  const delays = [];
  const { sweepLater } = server._topics;
  server._topics.sweepLater = function (milliseconds) {
    delays.push(milliseconds);
    sweepLater.call(this, milliseconds);
  };
  server._topics.sweep();
  while (server._topics.all.size !== 0) await new Promise((resolve) => setTimeout(resolve, 10));
  // Not 4096 in ten seconds.
  t.true(Math.max(...delays) < 1000, `${delays}`);
});

test('a topic that topicOptions has subscribed to does not expire', async (t) => {
  let ws = null;
  const topicOptions = () => {
    const member = ws;
    ws = null;
    member?.subscribe('room');
    return { history: 1, positionTtl: 1 };
  };
  const { server, all } = await openRoom(t, 'port', 1, { topicOptions });
  [{ ws }] = all;
  t.is(server.publish('room', '1'), 1);
  await expired(server, 'room');
  server._topics.sweep();
  t.deepEqual([...server.topics()], [['room', 1]]);
});

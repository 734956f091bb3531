// Topics: connections of every kind, arguments that are wrong, many names, and names that programs
// use for themselves.
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import { createRequire } from 'node:module';

import test from 'ava';

import { WebSocket } from '../../lib/index.mjs';
import { cert, key } from '../helpers/certificate.mjs';
import { urlOf, wsClient } from '../helpers/clients.mjs';
import { TOPIC_WAYS, heardBy, openRoom } from '../helpers/topics.mjs';
import { wrapUpgrades } from '../helpers/wrapped.mjs';

const { batch } = createRequire(import.meta.url)('../../lib/reactor/batch.js');

// Alone: messages of other tests would move the place of the next batch.
test.serial('receipts and answers leave the memory of their batches to the next ones', async (t) => {
  const { server, all } = await openRoom(t, 'port', 1);
  const ask = async () => {
    await server.publish('room', 'one', { receipt: true });
    await new Promise((resolve) => all[0].ws.subscribe('room', {}, resolve));
    return [batch.buffer, batch.base];
  };
  const [buffer, base] = await ask();
  for (let n = 0; n < 20; n++) {
    const [later, place] = await ask();
    t.true(later === buffer && place === base, `${n}: ${place}, not ${base}`);
  }
});

test('connections of every kind in one topic', async (t) => {
  const server = await TOPIC_WAYS.port(t);
  const wrapped = wrapUpgrades({ __proto__: server });
  const listen = async (behind, owner) => {
    behind.on('upgrade', (request, socket, head) => {
      owner.handleUpgrade(request, socket, head, (ws) => server.emit('connection', ws, request));
    });
    behind.listen(0, '127.0.0.1');
    await once(behind, 'listening');
    t.teardown(() => behind.close());
    return behind.address().port;
  };
  const urls = [
    urlOf(server),
    `ws://127.0.0.1:${await listen(http.createServer(), server)}`,
    `ws://127.0.0.1:${await listen(http.createServer(), wrapped)}`,
    `wss://localhost:${await listen(https.createServer({ cert, key }), server)}`,
  ];
  const all = [];
  for (const url of [...urls, ...urls]) {
    const client = new wsClient(url, url.startsWith('wss') ? { ca: cert, lookup: undefined } : {});
    t.teardown(() => client.terminate());
    const [[ws]] = await Promise.all([once(server, 'connection'), once(client, 'open')]);
    const heard = [];
    client.on('message', (data) => heard.push(data.toString()));
    all.push({ ws, client, heard });
    ws.subscribe('room');
  }
  t.is(server.publish('room', 'to all'), 8);
  for (const [n, { ws }] of all.entries()) t.is(ws.publish('room', `but ${n}`), 7);
  const { matched, bytes, dropped } = await server.publish('room', 'for all', { receipt: true });
  t.deepEqual([matched, bytes, dropped], [8, 72, 0]);
  const others = (n) => all.flatMap((_, other) => (other === n ? [] : [`but ${other}`]));
  for (const [n, heard] of (await heardBy(...all)).entries()) t.deepEqual(heard, ['to all', ...others(n), 'for all'], `${n}`);
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
    [() => server.topicCounts(1), TypeError, 'topic must be a string. Received 1'],
    [() => ws.topicCounts(null), TypeError, 'topic must be a string. Received null'],
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

test('more topics than one part of the table has', async (t) => {
  const { server, all } = await openRoom(t, 'port', 2);
  const [a, b] = all;
  const names = Array.from({ length: 5000 }, (_, n) => (n % 2 ? `user/${n}/messages` : `${n}`));
  // A walk that has begun shows no topic twice when the table becomes one of many parts.
  a.ws.subscribe('before');
  const walk = server.topics();
  t.deepEqual(walk.next().value, ['before', 1]);
  for (const name of names) a.ws.subscribe(name);
  const shown = [...walk].map(([name]) => name);
  t.is(new Set(shown).size, shown.length);
  b.ws.subscribe(names[4999]);
  const counts = new Map(server.topics());
  t.deepEqual([counts.size, counts.get(names[7]), counts.get(names[4999]), counts.get('none')], [5001, 1, 2, undefined]);
  for (const name of names.slice(0, 10)) t.is(server.publish(name, name), 1);
  t.deepEqual(await heardBy(a), [names.slice(0, 10)]);
  for (const name of names.slice(0, 4999)) t.true(a.ws.unsubscribe(name));
  t.deepEqual([...server.topics()].sort(), [['before', 1], [names[4999], 2]]);
  a.ws.terminate();
  b.ws.unsubscribe(names[4999]);
  t.deepEqual([...server.topics()], []);
  t.true(b.ws.subscribe('again'));
  t.deepEqual([...server.topics()], [['again', 1]]);
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

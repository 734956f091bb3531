// When a node reads histories, how much at once, and what goes on meanwhile. The broker is the test's.
import { once } from 'node:events';

import test from 'ava';

import { Broker } from '../helpers/memory-broker.mjs';
import { hears, openNode, subscribe } from '../helpers/nodes.mjs';
import { startServer } from '../helpers/impl.mjs';

const KEPT = { topicOptions: () => ({ history: 1000 }) };

test('after a reconnect, messages that are the next ones do not wait, and one that is missing is read', async (t) => {
  const broker = new Broker();
  const { members: [member], server } = await openNode(t, broker.adapter(), 1, KEPT);
  await subscribe(member.ws, 'topic');
  let answer;
  broker.beforeRead = () => new Promise((resolve) => (answer = resolve));
  for (const { node } of broker.adapters) node.lost();
  server.publish('topic', 'next');
  await hears(member, 'next');
  broker.beforeRead = () => {};
  answer();
  broker.isDeaf = true;
  await server.publish('topic', 'missing', { receipt: true }).catch(() => {});
  broker.isDeaf = false;
  for (const { node } of broker.adapters) node.lost();
  await hears(member, 'missing');
  t.deepEqual(member.heard, ['next', 'missing']);
});

test('messages that come with the answer about a short history are no gap', async (t) => {
  const broker = new Broker();
  const { members: [member], server } = await openNode(t, broker.adapter(), 1, { topicOptions: () => ({ history: 5 }) });
  const [adapter] = broker.adapters;
  const { server: other } = await openNode(t, broker.adapter(), 0, { topicOptions: () => ({ history: 5 }) });
  await subscribe(member.ws, 'topic');
  const { deliver } = adapter.node;
  const onTheirWay = [];
  adapter.node.deliver = (...values) => onTheirWay.push(values);
  const read = adapter.history.bind(adapter);
  adapter.history = async (...values) => {
    const page = await read(...values);
    if (values[1] !== 'latest') setImmediate(() => onTheirWay.splice(0).forEach((one) => deliver(...one)));
    return page;
  };
  const texts = Array.from({ length: 20 }, (_, n) => `message ${n}`);
  await Promise.all(texts.map((text) => other.publish('topic', text, { receipt: true })));
  adapter.node.lost();
  await hears(member, texts.at(-1));
  t.deepEqual(member.heard, texts);
  t.is(server.metrics().adapter.gaps, 0);
});

test('readings that the broker does not answer hold up no others for long', async (t) => {
  const broker = new Broker();
  const { members: [member], server } = await openNode(t, broker.adapter(), 1, KEPT);
  await Promise.all(Array.from({ length: 50 }, (_, n) => subscribe(member.ws, `topic ${n}`)));
  const late = [];
  broker.beforeRead = (name) => name === 'other' || new Promise((resolve) => late.push(resolve));
  for (const { node } of broker.adapters) node.lost();
  t.truthy((await subscribe(member.ws, 'other')).position);
  const { readings } = server._topics.clusterNode;
  while (late.length < 50) await new Promise(setImmediate);
  for (const answer of late) answer();
  while (readings.left !== 32) await new Promise(setImmediate);
  t.pass();
});

test('quiet topics are compared with the broker a few at a time, and no others', async (t) => {
  const broker = new Broker();
  const { members: [member], server } = await openNode(t, broker.adapter(), 1, KEPT);
  await Promise.all(Array.from({ length: 80 }, (_, n) => subscribe(member.ws, `topic ${n}`)));
  server.publish('topic 0', 'heard');
  await hears(member, 'heard');
  const asked = [];
  broker.beforeRead = (name, since) => asked.push([name, since]);
  const { clusterNode } = server._topics;
  clusterNode.check();
  t.true(clusterNode.check.length === 0 && asked.length <= 2);
  for (let n = 1; n < 40; n++) clusterNode.check();
  while (asked.length < 79) await new Promise(setImmediate);
  t.is(new Set(asked.map(([name]) => name)).size, 79);
  t.deepEqual(asked.filter(([name, since]) => name === 'topic 0' || since !== 'latest'), []);
});

test('server.history() asks for pages of a mebibyte, and stops at one that leads nowhere', async (t) => {
  const broker = new Broker();
  const { server } = await openNode(t, broker.adapter(), 0, KEPT);
  const [adapter] = broker.adapters;
  for (let n = 0; n < 40; n++) await adapter.publish('topic', Buffer.concat([Buffer.from('0100', 'hex'), Buffer.alloc(500_000)]), { history: { size: 1000 } });
  const read = adapter.history;
  const limits = [];
  adapter.history = (...args) => {
    limits.push(args[2]);
    return read.apply(adapter, args);
  };
  t.is((await server.history('topic')).messages.length, 40);
  t.true(limits.slice(1).every((limit) => limit <= 2), String(limits));
  const page = await read.call(adapter, 'topic', 'oldest', 5, { size: 1000 });
  adapter.history = async () => page;
  t.true((await server.history('topic')).messages.length < 40);
});

test('what an adapter does wrong while a history is read is an event', async (t) => {
  const broker = new Broker();
  const { members: [member], server } = await openNode(t, broker.adapter(), 1, KEPT);
  const [{ node }] = broker.adapters;
  const failed = once(server, 'adapter');
  broker.beforeRead = () => {
    node.deliver('topic', Buffer.from('nonsense'), null);
    node.deliver('topic', undefined, { epoch: '', offset: 1 });
    broker.beforeRead = () => {};
    throw Object.create(null);
  };
  const subscribed = subscribe(member.ws, 'topic');
  t.is((await failed)[0].type, 'failed');
  t.is((await subscribed).position.offset, 0);
});

test('close() before the broker is there settles what waits, and closes the adapter', async (t) => {
  const calls = [];
  const adapter = { start: () => new Promise(() => {}), publish() {}, subscribe() {}, unsubscribe() {}, history() {}, close: () => calls.push('close') };
  const server = await startServer(t, { adapter, ...KEPT });
  const receipt = server.publish('topic', 'text', { receipt: true });
  server.close();
  await t.throwsAsync(receipt, { message: 'The server is closed' });
  t.deepEqual(calls, ['close']);
});

test('topics that are left before the broker knows of them are forgotten, and later ones come', async (t) => {
  const broker = new Broker();
  const { members: [member], server } = await openNode(t, broker.adapter(), 1, KEPT);
  const [adapter] = broker.adapters;
  const { subscribe: ask } = adapter;
  const asked = [];
  adapter.subscribe = (topics) => new Promise((resolve) => asked.push(() => resolve(ask.call(adapter, topics))));
  for (let n = 0; n < 12_000; n++) {
    member.ws.subscribe(`topic ${n}`);
    member.ws.unsubscribe(`topic ${n}`);
    if (n < 200) await new Promise(setImmediate);
  }
  const { all, clusterNode } = server._topics;
  t.true(asked.length <= 64 && clusterNode.subscriptionSync.all.size <= 64 && all.size <= 10_001);
  const isIn = subscribe(member.ws, 'topic');
  adapter.subscribe = ask;
  for (const answer of asked) answer();
  await isIn;
  await server.publish('topic', 'text', { receipt: true });
  await hears(member, 'text');
  t.deepEqual(member.heard, ['text']);
});

test.serial('a clock that is set back makes no subscriber wait', async (t) => {
  const { members: [{ ws }] } = await openNode(t, new Broker().adapter(), 1, KEPT);
  await subscribe(ws, 'topic');
  const unknown = (epoch) => subscribe(ws, 'topic', { since: { epoch, offset: 1 } });
  await unknown('one');
  const { now } = Date;
  t.teardown(() => (Date.now = now));
  Date.now = () => now() - 3_600_000;
  t.deepEqual((await unknown('another')).position.offset, 0);
});

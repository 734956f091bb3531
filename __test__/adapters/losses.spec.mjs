// The reports to subscribers when a broker loses messages, and the recovery. The broker is the test's.
import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';

import test from 'ava';

import { encodeHanded } from '../../lib/nodes/envelope.js';
import { WebSocketServer } from '../helpers/impl.mjs';
import { hears, openNode, subscribe } from '../helpers/nodes.mjs';
import { Broker } from '../helpers/memory-broker.mjs';
import { join } from '../helpers/topics.mjs';

const kept = (history, more) => ({ topicOptions: () => ({ history, ...more }) });
const gapsOf = ({ ws }) => {
  const gaps = [];
  ws.on('gap', (...gap) => gaps.push(gap));
  return gaps;
};
const lose = (broker) => {
  for (const { node } of broker.adapters) node.lost();
};

async function open(t, options, count = 1) {
  const broker = new Broker();
  const nodes = [await openNode(t, broker.adapter(), count, options), await openNode(t, broker.adapter(), 0, options)];
  const { position } = await subscribe(nodes[0].members[0].ws, 'topic');
  return { broker, a: nodes[0], b: nodes[1], member: nodes[0].members[0], position };
}

for (const how of ['at once', 'with the next message', 'when positions are compared']) {
  test(`messages that did not come are read from the history, ${how}`, async (t) => {
    const { broker, a, b, member } = await open(t, kept(100));
    const gaps = gapsOf(member);
    b.server.publish('topic', '1');
    await hears(member, '1');
    broker.isDeaf = true;
    for (const text of ['2', '3', '4']) await b.server.publish('topic', text, { receipt: true });
    broker.isDeaf = false;
    if (how === 'at once') lose(broker);
    else if (how === 'with the next message') b.server.publish('topic', '5');
    else a.server._topics.clusterNode.check();
    await hears(member, '4');
    b.server.publish('topic', 'end');
    await hears(member, 'end');
    t.deepEqual(member.heard.filter((text) => text !== '5'), ['1', '2', '3', '4', 'end']);
    t.deepEqual(gaps, []);
  });
}

test('what comes while histories are read has a bound for each topic and for all, and nothing is missing', async (t) => {
  const broker = new Broker();
  const nodes = [await openNode(t, broker.adapter(), 1, kept(100)), await openNode(t, broker.adapter(), 0, kept(100))];
  const [{ server, members: [member] }, other] = nodes;
  let release;
  const held = new Promise((resolve) => (release = resolve));
  const limits = [];
  broker.beforeRead = () => held;
  const { history } = [...broker.adapters][0];
  for (const adapter of broker.adapters) adapter.history = (name, since, limit, settings) => (limits.push(limit), history.call(adapter, name, since, limit, settings));
  const topics = Array.from({ length: 20 }, (_, n) => `topic ${n}`);
  const joined = topics.map((topic) => subscribe(member.ws, topic));
  const { clusterNode } = server._topics;
  while (!topics.every((topic) => clusterNode.subscriptionSync.isActive(topic))) await turn();
  const text = 'x'.repeat(2 ** 20 - 100);
  let most = 0;
  for (let n = 0; n < 5; n++) {
    for (const topic of topics) {
      await other.server.publish(topic, `${topic} ${n} ${text}`, { receipt: true });
      most = Math.max(most, clusterNode.arrivedBytes);
      t.true(server._topics.all.get(topic).shared.arrivedBytes <= 4 * 2 ** 20);
    }
  }
  t.true(most > 60 * 2 ** 20 && most <= 64 * 2 ** 20, `${most}`);
  release();
  await Promise.all(joined);
  for (const topic of topics) other.server.publish(topic, `${topic} end`);
  for (const topic of topics) await hears(member, `${topic} end`);
  for (const topic of topics) {
    const own = member.heard.filter((one) => one.startsWith(`${topic} `)).map((one) => one.split(' ')[2]);
    t.deepEqual(own.slice(-1), ['end']);
    t.is(new Set(own).size, own.length, 'nothing twice');
    t.deepEqual(own.slice(0, -1), ['0', '1', '2', '3', '4'].slice(-own.length + 1 || 5), 'no hole');
  }
  t.is(clusterNode.arrivedBytes, 0);
  t.true(Math.max(...limits) <= 32, `${limits}`);
});

test('messages that the history has lost, too, are a gap, and later ones come', async (t) => {
  const { broker, b, member, position: { epoch } } = await open(t, kept(3));
  b.server.publish('topic', '1');
  await hears(member, '1');
  broker.isDeaf = true;
  for (const text of ['2', '3', '4', '5', '6']) await b.server.publish('topic', text, { receipt: true });
  broker.isDeaf = false;
  const gap = once(member.ws, 'gap');
  lose(broker);
  t.deepEqual(await gap, ['topic', { epoch, offset: 2 }, { epoch, offset: 3 }]);
  await hears(member, '6');
  t.deepEqual(member.heard, ['1', '4', '5', '6']);
});

for (const how of ['is empty', 'has new messages', 'has lost the last messages', 'has given their positions away again']) {
  test(`another history is a gap without a beginning: it ${how}`, async (t) => {
    const { broker, a, b, member, position: before } = await open(t, kept(100));
    for (const text of ['1', '2', '3', '4', '5']) b.server.publish('topic', text);
    await hears(member, '5');
    const gap = once(member.ws, 'gap');
    if (how.startsWith('has lost') || how.startsWith('has given')) broker.rollBack('topic', 2);
    else broker.flush();
    if (how === 'has new messages' || how.startsWith('has given')) b.server.publish('topic', 'new');
    else lose(broker);
    const [, from, to] = await gap;
    t.is(from, null);
    t.not(to.epoch, before.epoch);
    b.server.publish('topic', 'end');
    await hears(member, 'end');
    t.deepEqual(await subscribe(a.members[0].ws, 'topic', { since: { epoch: before.epoch, offset: 3 } }).then(({ recovered }) => recovered), false);
    t.is(new Set(member.heard).size, member.heard.length, 'nothing twice');
  });
}

test('without a history every loss is a gap of which nobody knows anything', async (t) => {
  const { broker, member, a } = await open(t, {});
  const gap = once(member.ws, 'gap');
  lose(broker);
  t.deepEqual(await gap, ['topic', null, null]);
  t.is(a.server.metrics().adapter.gaps, 1);
});

test('a history that cannot be read is read later, and subscribers that wait are told at the end of their patience, or when they leave', async (t) => {
  const { broker, a, b } = await open(t, kept(100), 3);
  const events = [];
  a.server.on('adapter', (event) => events.push(event));
  let refusals = 3;
  broker.beforeRead = (name) => {
    if (name === 'late' && refusals-- > 0) throw new Error('not now');
  };
  for (const text of ['1', '2']) await b.server.publish('late', text, { receipt: true });
  const [, two, three] = a.members;
  const first = subscribe(two.ws, 'late', { since: 'oldest' });
  const gone = subscribe(three.ws, 'late', { since: 'oldest' });
  t.true(three.ws.isSubscribed('late'));
  t.true(three.ws.unsubscribe('late'));
  t.deepEqual(await gone, { recovered: false, position: null, replayed: 0 });
  const { recovered, replayed } = await first;
  t.deepEqual([recovered, replayed], [true, 2]);
  await hears(two, '2');
  while (events.length === 0) await once(a.server, 'adapter');
  t.is(events[0].type, 'failed');
  t.is(events[0].error.message, 'not now');
  t.true(a.server.metrics().adapter.failed >= 3);
});

for (const [how, options, come] of [['that the broker refuses', {}, ['good']], ['above adapterLimit', { adapterLimit: 0 }, ['lost 0', 'good']]]) {
  test(`without a history other nodes are told of a message ${how}, once the broker takes it`, async (t) => {
    const { broker, b, member: there } = await open(t, options);
    const here = await join(t, b.server);
    await subscribe(here.ws, 'topic');
    const [gaps, own] = [gapsOf(there), gapsOf(here)];
    let refused = 0;
    broker.beforePublish = () => {
      if (options.adapterLimit === undefined && refused++ < 2) throw new Error('refused');
    };
    for (let n = 0; n < 2; n++) b.server.publish('topic', `lost ${n}`);
    await once(there.ws, 'gap');
    b.server.publish('topic', 'good');
    await Promise.all([hears(there, 'good'), hears(here, 'good')]);
    t.deepEqual([there.heard, here.heard], [come, ['lost 0', 'lost 1', 'good']]);
    t.deepEqual([gaps, own], [[['topic', null, null]], []]);
  });
}

for (const overflow of ['drop', 'reject']) {
  test(`a broker that does not answer: at most adapterLimit bytes wait, then ${overflow}`, async (t) => {
    const broker = new Broker({ history: false });
    const options = { adapterLimit: 30_000, adapterOverflow: overflow };
    const a = await openNode(t, broker.adapter(), 1, options);
    const [member] = a.members;
    await subscribe(member.ws, 'topic');
    let release;
    broker.beforePublish = () => new Promise((resolve) => (release = resolve));
    const data = 'x'.repeat(1000);
    let refused = 0;
    for (let n = 0; n < 20; n++) {
      try {
        t.is(a.server.publish('topic', data), 1);
      } catch (error) {
        t.is(error.code, 'REACTOR_WS_ADAPTER_FULL');
        refused++;
      }
    }
    const { bytesWaiting, dropped, sent } = a.server.metrics().adapter;
    t.is(bytesWaiting, 9 * (2048 + 1014));
    t.deepEqual([sent, dropped, refused], overflow === 'drop' ? [9, 11, 0] : [9, 0, 11]);
    if (overflow === 'reject') await t.throwsAsync(a.server.publish('topic', data, { receipt: true }), { code: 'REACTOR_WS_ADAPTER_FULL' });
    else {
      const [event] = await once(a.server, 'adapter');
      t.deepEqual(event, { type: 'dropped', count: 11 });
    }
    a.server.publish('topic', 'end', { except: null, binary: false, key: '' });
    await hears(member, 'end').catch(() => {});
    t.is(member.heard.filter((text) => text === data).length, overflow === 'drop' ? 20 : 9, 'local subscribers get what is not refused');
    t.truthy(release);
  });
}

test('the call of a topic with a history counts once for all of its messages that wait', async (t) => {
  const { broker, b } = await open(t, kept(100));
  const waiting = () => b.server.metrics().adapter.bytesWaiting;
  const answers = [];
  broker.beforePublish = () => new Promise((resolve) => answers.push(resolve));
  for (const name of ['one', 'other', 'one']) b.server.publish(name, 'x');
  t.is(waiting(), 3 * (2048 + 15) + 2 * 8192);
  while (waiting() !== 0) {
    for (const answer of answers.splice(0)) answer();
    await new Promise(setImmediate);
  }
  b.server.publish('one', 'x');
  t.is(waiting(), 2048 + 15 + 8192);
});

test('the broker refuses a message: its receipt is rejected, and others go on', async (t) => {
  const { broker, b, member } = await open(t, kept(100));
  broker.beforePublish = (name, bytes) => {
    if (bytes.toString().endsWith('bad')) throw new Error('refused');
  };
  await t.throwsAsync(b.server.publish('topic', 'bad', { receipt: true }), { message: 'refused' });
  b.server.publish('topic', 'bad');
  b.server.publish('topic', 'good');
  await hears(member, 'good');
  t.deepEqual(member.heard, ['good']);
  t.is(b.server.metrics().adapter.failed, 2);
});

test('a confirmation does not look at all receipts that wait', async (t) => {
  const { broker, a } = await open(t, kept(1000));
  const { sent } = a.server._topics.all.get('topic').shared;
  // A comparison with the broker would settle some, too.
  const { checking, readings } = a.server._topics.clusterNode;
  clearInterval(checking);
  while (readings.left !== 32) await turn();
  let looks = 0;
  sent[Symbol.iterator] = function* () {
    for (const entry of this.entries()) {
      looks++;
      yield entry;
    }
  };
  broker.isDeaf = true;
  const receipts = Array.from({ length: 100 }, (_, n) => a.server.publish('topic', String(n), { receipt: true }));
  for (let turns = 0; turns < 10; turns++) await turn();
  t.is(sent.size, 100);
  broker.isDeaf = false;
  receipts.push(a.server.publish('topic', 'end', { receipt: true }));
  t.deepEqual((await Promise.all(receipts)).map(({ position }) => position.offset), Array.from(receipts, (_, n) => n + 1));
  t.true(looks <= 2 * receipts.length, `${looks}`);
});

test('a message of another version is ignored and counted, and its position is a gap', async (t) => {
  const warned = once(process, 'warning');
  const { broker, a, member, position: { epoch } } = await open(t, kept(100));
  const gap = once(member.ws, 'gap');
  const [{ broker: same }] = broker.adapters;
  const foreign = same.adapter();
  await foreign.start({});
  await foreign.publish('topic', Buffer.from([99, 1, 2, 3]), { history: { size: 10 } });
  t.deepEqual(await gap, ['topic', { epoch, offset: 1 }, { epoch, offset: 1 }]);
  a.server.publish('topic', 'next');
  await hears(member, 'next');
  t.is(a.server.metrics().adapter.ignored, 1);
  t.is((await warned)[0].code, 'REACTOR_WS_FOREIGN_MESSAGE');
});

test('a start that fails is tried again', async (t) => {
  const broker = new Broker();
  const adapter = broker.adapter();
  const { start } = Object.getPrototypeOf(Object.getPrototypeOf(adapter));
  let failures = 2;
  adapter.start = function (node) {
    if (failures-- > 0) throw new Error('not yet');
    return start.call(this, node);
  };
  const a = await openNode(t, adapter, 1);
  await subscribe(a.members[0].ws, 'topic');
  t.is(a.server.metrics().adapter.failed, 2);
});

test('the wrong shape of an adapter is a TypeError that names the method', (t) => {
  const wrong = [
    [5, /^options\.adapter must be an adapter\. Received 5$/],
    [{}, /^options\.adapter\.start must be a function\. Received undefined$/],
    [{ start() {}, publish() {}, subscribe() {}, unsubscribe: 1, close() {} }, /^options\.adapter\.unsubscribe must be a function\. Received 1$/],
    [{ start() {}, publish() {}, subscribe() {}, unsubscribe() {}, close() {}, history: 1 }, /^options\.adapter\.history must be a function\. Received 1$/],
  ];
  for (const [adapter, message] of wrong) t.throws(() => new WebSocketServer({ noServer: true, adapter }), { instanceOf: TypeError, message });
  t.throws(() => new WebSocketServer({ noServer: true, adapterLimit: -1 }), { instanceOf: RangeError });
  t.throws(() => new WebSocketServer({ noServer: true, adapterOverflow: 'wait' }), { instanceOf: TypeError });
});

for (const gaps of [0, 1]) {
  test(`a process before that ${gaps === 0 ? 'has handed on all messages: no gap' : 'has ended before it handed messages on: a gap'}`, async (t) => {
    const broker = new Broker({ history: false });
    const { members: [{ ws }], server } = await openNode(t, broker.adapter());
    await subscribe(ws, 'topic');
    const { clusterNode } = server._topics;
    clusterNode.hold();
    await clusterNode.succeed({ id: 'f'.repeat(12), last: 0 }, []);
    if (gaps === 0) clusterNode.deliver('', encodeHanded(null, true, Buffer.alloc(0)));
    await clusterNode.arrive(Promise.resolve());
    t.is(server.metrics().adapter.gaps, gaps);
  });
}

// Histories that a node keeps for itself, and messages that a topic does not take: gaps are reported. The broker is the test's.
import { once } from 'node:events';

import test from 'ava';

import { hears, openNode, subscribe } from '../helpers/nodes.mjs';
import { Broker } from '../helpers/memory-broker.mjs';

const KEPT = { topicOptions: () => ({ history: 100 }) };
const BYTES = Buffer.from('bytes');

const lose = (broker) => {
  for (const { node } of broker.adapters) node.lost();
};

for (const history of [true, false]) {
  const how = history ? 'shared history' : 'own histories';

  test(`${how}: bytes of a node without the protocol are left out, and told`, async (t) => {
    const broker = new Broker({ history });
    const a = await openNode(t, broker.adapter(), 1, KEPT);
    a.server.topicsProtocol({ authorize: () => false });
    const b = await openNode(t, broker.adapter(), 0, KEPT);
    const [member] = a.members;
    await subscribe(member.ws, 'topic');
    const gap = once(member.ws, 'gap');
    await b.server.publish('topic', BYTES, { receipt: true });
    await gap;
    b.server.publish('topic', 'text');
    while (!/,[12]\]\ntext$/.test(member.heard[0])) await once(member.client, 'message');
    t.is(a.server.metrics().adapter.ignored, 1);
  });

  test(`${how}: what publish() refuses does not wait for the broker`, async (t) => {
    const { server } = await openNode(t, new Broker({ history }).adapter(), 0, KEPT);
    server.topicsProtocol({ authorize: () => false });
    t.throws(() => server.publish('topic', BYTES), { message: /^data must be text on a server with topicsProtocol/ });
    t.is(server.metrics().adapter.bytesWaiting, 0);
  });
}

test('own histories: after a loss, earlier positions recover nothing', async (t) => {
  const broker = new Broker({ history: false });
  const { server, members } = await openNode(t, broker.adapter(), 2, KEPT);
  const [stays, returns] = members;
  const { position } = await subscribe(returns.ws, 'topic');
  await subscribe(stays.ws, 'topic');
  server.publish('topic', '1');
  await hears(returns, '1');
  const before = { ...position, offset: 1 };
  t.true((await subscribe(returns.ws, 'topic', { since: before })).recovered);
  const gap = once(stays.ws, 'gap');
  lose(broker);
  const [name, from, to] = await gap;
  t.deepEqual([name, from, to.offset], ['topic', null, 1]);
  t.not(to.epoch, position.epoch);
  t.like(await subscribe(returns.ws, 'topic', { since: before }), { recovered: false, replayed: 0, position: to });
  t.true((await subscribe(returns.ws, 'topic', { since: to })).recovered);
});

test('own histories: messages from before the first subscriber are not all', async (t) => {
  const broker = new Broker({ history: false });
  const a = await openNode(t, broker.adapter(), 1, KEPT);
  const b = await openNode(t, broker.adapter(), 0, KEPT);
  const { position } = await a.server.publish('topic', '1', { receipt: true });
  await b.server.publish('topic', '2', { receipt: true });
  const { recovered } = await subscribe(a.members[0].ws, 'topic', { since: position });
  t.false(recovered);
});

test('a client that comes from a node which is ahead recovers, and hears nothing twice', async (t) => {
  const broker = new Broker();
  const a = await openNode(t, broker.adapter(), 1, KEPT);
  const b = await openNode(t, broker.adapter(), 3, KEPT);
  const [ahead] = a.members;
  const [stays, comes, forged] = b.members;
  await subscribe(ahead.ws, 'topic');
  const { position } = await subscribe(stays.ws, 'topic');
  const [, late] = broker.adapters;
  const { node } = late;
  const held = [];
  late.node = { ...node, deliver: (...message) => held.push(message) };
  a.server.publish('topic', '1');
  a.server.publish('topic', '2');
  await hears(ahead, '2');
  t.like(await subscribe(comes.ws, 'topic', { since: { ...position, offset: 2 } }), { recovered: true, replayed: 0 });
  // A position that no node has given delays no other subscriber.
  t.like(await subscribe(forged.ws, 'topic', { since: { ...position, offset: 99 } }), { recovered: false });
  t.like(await b.server.history('topic', { since: { ...position, offset: 1 } }), { recovered: true });
  late.node = node;
  for (const message of held) node.deliver(...message);
  a.server.publish('topic', '3');
  for (const member of [stays, comes]) await hears(member, '3');
  t.deepEqual([stays.heard, comes.heard], [['1', '2', '3'], ['3']]);
});

test('a client that is ahead comes while the history is read: it is read once more', async (t) => {
  const broker = new Broker();
  const a = await openNode(t, broker.adapter(), 1, KEPT);
  const b = await openNode(t, broker.adapter(), 2, KEPT);
  const [ahead] = a.members;
  const [first, comes] = b.members;
  const { position } = await subscribe(ahead.ws, 'topic');
  const [, late] = broker.adapters;
  const { node } = late;
  late.node = { ...node, deliver() {} };
  const read = late.history;
  let recovers;
  late.history = async (...args) => {
    const page = await read.apply(late, args);
    if (recovers === undefined) {
      a.server.publish('topic', '1');
      await hears(ahead, '1');
      recovers = subscribe(comes.ws, 'topic', { since: { ...position, offset: 1 } });
    }
    return page;
  };
  await subscribe(first.ws, 'topic');
  t.like(await recovers, { recovered: true, replayed: 0 });
});

test('a message looks only at those that wait for its position', async (t) => {
  const { server, members } = await openNode(t, new Broker().adapter(), 2, KEPT);
  const [stays, forged] = members;
  const { position } = await subscribe(stays.ws, 'topic');
  const { shared } = server._topics.all.get('topic');
  shared.ask = () => {};
  const offsets = Array.from({ length: 100 }, (_, n) => 100 + n);
  const answers = offsets.map((offset) => subscribe(forged.ws, 'topic', { since: { ...position, offset } }));
  let looks = 0;
  shared.isAhead = (since) => (looks++, Object.getPrototypeOf(shared).isAhead.call(shared, since));
  const texts = Array.from({ length: 100 }, (_, n) => `${n + 1}`);
  for (const text of texts) server.publish('topic', text);
  t.like(await answers[0], { recovered: true, replayed: 0 });
  t.deepEqual([looks, shared.waiting.size], [1, 99]);
  forged.ws.terminate();
  await Promise.all(answers);
  t.deepEqual([shared.waiting.size, shared.byOffset.size], [0, 0]);
});

test('an adapter that calls with nonsense is told by events, and nothing is thrown', async (t) => {
  const broker = new Broker();
  const { server, members } = await openNode(t, broker.adapter(), 1, KEPT);
  await subscribe(members[0].ws, 'topic');
  const [{ node }] = broker.adapters;
  const events = [];
  server.on('adapter', ({ error, type }) => events.push([type, error?.constructor, error?.message]));
  node.report('away', 'a text');
  node.report('connected', null);
  t.notThrows(() => node.deliver('topic', undefined));
  while (events.length < 3) await once(server, 'adapter');
  t.deepEqual(events.slice(0, 2), [['away', Error, 'a text'], ['connected', undefined, undefined]]);
  t.is(events[2][0], 'failed');
});

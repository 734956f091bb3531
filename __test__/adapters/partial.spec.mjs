// Histories that a node keeps for itself, and messages that a topic does not take: what is missing is told. The broker is the test's.
import { once } from 'node:events';

import test from 'ava';

import { hears, openNode, subscribe } from '../helpers/nodes.mjs';
import { Broker } from '../helpers/memory-broker.mjs';

const KEPT = { topicOptions: () => ({ history: 100 }) };
const STAMPED = { topicOptions: () => ({ history: 100, stamp: { before: '$offset:' } }) };
const BYTES = Buffer.from('bytes');

const lose = (broker) => {
  for (const { node } of broker.adapters) node.lost();
};

for (const history of [true, false]) {
  const how = history ? 'shared history' : 'own histories';

  test(`${how}: bytes of a node without the stamp are left out, and told`, async (t) => {
    const broker = new Broker({ history });
    const a = await openNode(t, broker.adapter(), 1, STAMPED);
    const b = await openNode(t, broker.adapter(), 0, KEPT);
    const [member] = a.members;
    await subscribe(member.ws, 'topic');
    const gap = once(member.ws, 'gap');
    await b.server.publish('topic', BYTES, { receipt: true });
    await gap;
    b.server.publish('topic', 'text');
    await hears(member, history ? '2:text' : '1:text');
    t.is(a.server.metrics().adapter.ignored, 1);
  });

  test(`${how}: what publish() refuses does not wait for the broker`, async (t) => {
    const { server } = await openNode(t, new Broker({ history }).adapter(), 0, STAMPED);
    t.throws(() => server.publish('topic', BYTES), { message: /^data must be text in a topic with a stamp/ });
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

test('an adapter that calls with nonsense is told by events, and nothing is thrown', async (t) => {
  const broker = new Broker();
  const { server, members } = await openNode(t, broker.adapter(), 1, KEPT);
  await subscribe(members[0].ws, 'topic');
  const [{ node }] = broker.adapters;
  const failed = once(server, 'adapter');
  t.notThrows(() => node.deliver('topic', undefined));
  t.is((await failed)[0].type, 'failed');
});

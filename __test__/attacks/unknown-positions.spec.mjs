// A page that subscribes again and again with positions that no node has given, while its node and another one publish in the topic.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

import test from 'ava';

import { openVisitor } from '../helpers/clients.mjs';
import { Broker } from '../helpers/memory-broker.mjs';
import { openNode } from '../helpers/nodes.mjs';

const NAMES = { 'one epoch': () => 'bogus', 'another epoch each time': (n) => `bogus${n}` };

for (const [name, epochOf] of Object.entries(NAMES)) {
  test(`${name}: no publish of the node waits, and the broker is hardly asked`, async (t) => {
    const broker = new Broker();
    const topicOptions = () => ({ history: 100 });
    const { server } = await openNode(t, broker.adapter(), 0, { topicOptions });
    server.topicsProtocol({ authorize: () => true });
    const page = await openVisitor(t, `ws://127.0.0.1:${server.address().port}`, 'topics.reactor-ws.v1');
    const say = (n) => page.send(JSON.stringify({ subscribe: 'topic', since: { epoch: epochOf(n), offset: 1 } }));
    say(0);
    await once(page, 'message');
    let asked = 0;
    // The broker answers no question: only those that ask may wait.
    broker.beforeRead = () => {
      asked++;
      return new Promise(() => {});
    };
    for (let n = 1; n <= 500; n++) say(n);
    await sleep(50);
    const { position } = await server.publish('topic', 'text', { receipt: true });
    t.is(position.offset, 1);
    t.true(asked <= 1, `${asked} questions`);
  });
}

test('a page that asks twice while the history is read, and is taken out, is no member a second later', async (t) => {
  const broker = new Broker();
  const { server } = await openNode(t, broker.adapter(), 0, { topicOptions: () => ({ history: 100 }) });
  server.topicsProtocol({ authorize: () => true });
  const waiting = [];
  broker.beforeRead = () => new Promise((resolve) => waiting.push(resolve));
  const page = await openVisitor(t, `ws://127.0.0.1:${server.address().port}`, 'topics.reactor-ws.v1');
  const heard = [];
  page.on('message', (data) => heard.push(String(data)));
  const [ws] = server.clients;
  ws.subscribe('topic');
  while (waiting.length === 0) await sleep(5);
  ws.subscribe('topic', { since: { epoch: 'bogus', offset: 1 } }, () => {});
  await new Promise((resolve) => {
    ws.subscribe('topic', {}, resolve);
    broker.beforeRead = () => {};
    waiting[0]();
  });
  ws.unsubscribe('topic');
  await sleep(1500);
  await server.publish('topic', 'secret', { receipt: true });
  page.ping();
  await once(page, 'pong');
  t.deepEqual(heard, []);
});

test('2,000 pages that wait for a history and leave, one after the other, cost the others no second look', async (t) => {
  const broker = new Broker();
  broker.beforeRead = () => new Promise(() => {});
  const { members: [member], server } = await openNode(t, broker.adapter(), 1, { topicOptions: () => ({ history: 100 }) });
  member.ws.subscribe('topic');
  const { shared } = server._topics.all.get('topic');
  const pages = Array.from({ length: 2000 }, () => ({ pendingHistories: null }));
  for (const page of pages) shared.wait(page, undefined, () => {});
  let looks = 0;
  shared.waiting[Symbol.iterator] = function* () {
    for (const one of Set.prototype.values.call(this)) yield (looks++, one);
  };
  for (const page of pages) shared.cancel(page);
  t.deepEqual([looks, shared.waiting.size], [0, 1]);
});

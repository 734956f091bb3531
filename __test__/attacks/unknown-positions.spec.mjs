// A page that subscribes again and again with positions that nobody has given, while its node and another one publish in the topic.
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

// Pages that subscribe many times, and end, while the broker does not say whether messages come, and one that stays.
import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';

import test from 'ava';

import { openVisitor, urlOf } from '../helpers/clients.mjs';
import { Broker } from '../helpers/memory-broker.mjs';
import { openNode } from '../helpers/nodes.mjs';

test('what pages wait for ends with them', async (t) => {
  const broker = new Broker({ history: false });
  const { server } = await openNode(t, broker.adapter(), 0);
  const [adapter] = broker.adapters;
  adapter.subscribe = () => new Promise(() => {});
  server.topicsProtocol({ authorize: () => true });
  const open = () => openVisitor(t, urlOf(server), 'topics.reactor-ws.v1');
  const say = async (page, count) => {
    for (let n = 0; n < count; n++) page.send('{"subscribe":"topic"}');
    page.send('{"ping":true}');
    await once(page, 'message');
  };
  const canary = await open();
  await say(canary, 1);
  const { waiting } = server._topics.remote.interest.all.get('topic');
  for (let n = 0; n < 20; n++) {
    const page = await open();
    await say(page, 60);
    page.terminate();
  }
  while (waiting.size !== 1) await turn();
  canary.send('{"publish":"topic","data":"text","client":"me","number":1}');
  const [text] = await once(canary, 'message');
  t.regex(String(text), /^\["topic",null,0,"[\w-]{16}",1\]\ntext$/);
});

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
  const { waiting } = server._topics.clusterNode.subscriptionSync.all.get('topic');
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

test('a page that names topics and leaves them holds up no other, whose history is read', async (t) => {
  const broker = new Broker();
  const { server } = await openNode(t, broker.adapter(), 0, { topicOptions: () => ({ history: 10 }) });
  server.topicsProtocol({ authorize: () => true });
  const readings = [];
  broker.beforeRead = (name) => new Promise((resolve) => readings.push({ name, resolve }));
  const [page, canary] = [await openVisitor(t, urlOf(server), 'topics.reactor-ws.v1'), await openVisitor(t, urlOf(server), 'topics.reactor-ws.v1')];
  let pongs = 0;
  page.on('message', (data) => (pongs += Number(String(data) === '{"pong":true}')));
  for (let n = 0; n < 10; n++) {
    for (const what of ['subscribe', 'unsubscribe']) {
      for (let m = 0; m < 40; m++) page.send(JSON.stringify({ [what]: `${n} ${m}` }));
      const before = pongs;
      page.send('{"ping":true}');
      while (pongs === before) await turn();
    }
  }
  // 32, and the same number for each 2 s that have passed meanwhile.
  const before = readings.length;
  canary.send('{"subscribe":"canary"}');
  const answer = once(canary, 'message');
  let begun = 0;
  while (readings[begun - 1]?.name !== 'canary') {
    if (begun < readings.length) readings[begun++].resolve();
    else await turn();
  }
  t.true(begun < before + 18, `${begun} readings, ${before} before`);
  t.like(JSON.parse((await answer)[0]), { subscribed: 'canary', position: { offset: 0 } });
});

// A page that asks for the same history again and again, and reads nothing, beside one that reads.
import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';

import test from 'ava';

import { openVisitor, urlOf } from '../helpers/clients.mjs';
import { startServer } from '../helpers/impl.mjs';

const COUNT = 1000;
const ASKED = 60;

for (const between of [[], [{ unsubscribe: 'topic' }]]) {
  test(`what waits for it is one history, ${between.length === 0 ? 'as a subscriber' : 'which it leaves each time'}`, async (t) => {
    const server = await startServer(t, { topicOptions: () => ({ history: COUNT }) });
    server.topicsProtocol({ authorize: () => true });
    for (let n = 0; n < COUNT; n++) server.publish('topic', 'x'.repeat(3000));
    const [page, canary] = [await openVisitor(t, urlOf(server), 'topics.reactor-ws.v1'), await openVisitor(t, urlOf(server), 'topics.reactor-ws.v1')];
    const [ws] = server.clients;
    page.pause();
    for (const one of Array.from({ length: ASKED }, () => [{ subscribe: 'topic', since: 'oldest' }, ...between]).flat()) page.send(JSON.stringify(one));
    while (!ws.isPaused) await turn();
    for (let n = 0; n < 20; n++) {
      canary.send('{"ping":true}');
      await once(canary, 'message');
    }
    t.true(ws.bufferedAmount < 3 * COUNT * 3000, `${ws.bufferedAmount}`);
    let answers = 0;
    page.on('message', (data) => (answers += Number(data.toString().startsWith('{"subscribed":'))));
    page.resume();
    while (answers < ASKED) await once(page, 'message');
    t.pass();
  });
}

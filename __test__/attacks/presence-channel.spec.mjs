// A page that can name any topic names the channels of presence: its node goes on hearing the others.
import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';

import test from 'ava';

import { startServer, urlOf, visitor } from '../helpers/index.mjs';
import { Broker } from '../helpers/memory-broker.mjs';
import { join } from '../helpers/topics.mjs';

test('channels of presence are no topics', async (t) => {
  const broker = new Broker();
  const servers = [await startServer(t, { adapter: broker.adapter() }), await startServer(t, { adapter: broker.adapter() })];
  for (const server of servers) {
    server.topicsProtocol({ authorize: () => true });
    while (server.metrics().adapter.state !== 'connected') await once(server, 'adapter');
    server.presence('lobby').watch((await join(t, server)).ws);
  }
  const [a, b] = servers;
  const client = visitor(t, urlOf(a), 'topics.reactor-ws.v1');
  const heard = [];
  client.on('message', (data) => heard.push(JSON.parse(data)));
  await once(client, 'open');
  const names = ['\0presence', '\0presence\0lobby'];
  for (const name of names) {
    for (const said of [{ subscribe: name }, { publish: name, data: '{"n":"1","bye":1}', client: 'x', number: 1 }, { unsubscribe: name }]) client.send(JSON.stringify(said));
    t.throws(() => a.publish(name, ''), { instanceOf: RangeError, message: 'topic must not begin with "\\u0000presence": nodes use such names' });
  }
  while (heard.length < 6) await once(client, 'message');
  t.deepEqual(heard.map(({ refused, reason, unsubscribed }) => unsubscribed ?? [refused, reason]), names.flatMap((name) => [[name, 'forbidden'], [1, 'forbidden'], name]));
  // The canary: the rooms that it has left are forgotten after a while.
  const { subscriptionSync } = a._topics.clusterNode;
  t.deepEqual(names.map((name) => subscriptionSync.all.get(name).isWanted), [true, true]);
  t.is(subscriptionSync.idle.size, 0);
  (await join(t, b)).ws.enter('lobby', { key: 'carl' });
  while (a.presence('lobby').count === 0) await turn();
  t.is(a.presence('lobby').list()[0].key, 'carl');
});

// Several reactors: connections are spread over them, and no client sees a difference. All other
// behaviour that does not depend on their number is tested by all the other files with
// REACTOR_WS_REACTORS=3.
import { once } from 'node:events';

import { figures } from '../helpers/figures.mjs';
import { OWN_HOST, RawClient, connectMany, ownOnLinux, ownOnly, startServer } from '../helpers/index.mjs';

const REACTORS = 3;
const CONNECTIONS = 2 * REACTORS + 1;

async function startMany(t, options) {
  const server = await startServer(t, { reactors: REACTORS, ...options });
  const pairs = await connectMany(t, server, CONNECTIONS);
  return { server, pairs };
}

// R10.
ownOnLinux('each has a thread', async (t) => {
  // A reactor that serves has begun to run, and has its name.
  await startMany(t);
  t.is(figures().threads, REACTORS);
});

ownOnly('a server closes on all of them, and its port is free then', async (t) => {
  const { server, pairs } = await startMany(t, { host: OWN_HOST });
  const { port } = server.address();
  const silent = await RawClient.connect(t, port, OWN_HOST);
  const closed = once(server, 'close');
  let done = false;
  closed.then(() => (done = true));
  server.close();
  await silent.closed();
  const { ws, client } = pairs[0];
  client.send('open as before');
  t.is(String((await once(ws, 'message'))[0]), 'open as before');
  t.false(done);
  await startServer(t, { port, host: OWN_HOST });
  const ends = pairs.map((pair) => once(pair.client, 'close'));
  for (const pair of pairs) pair.ws.close(4001);
  for (const [code] of await Promise.all(ends)) t.is(code, 4001);
  await closed;
});

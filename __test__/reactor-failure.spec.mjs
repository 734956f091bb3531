// After the reactor thread has died, nothing is given to it any more.
import { once } from 'node:events';
import http from 'node:http';
import { createRequire } from 'node:module';

import test from 'ava';

import { wsClient } from './helpers/clients.mjs';
import { implementation, isReference } from './helpers/impl.mjs';

const ownOnly = isReference ? test.serial.skip : test.serial;
const { WebSocketServer } = implementation;

/** The thread cannot be made to die from outside; this is what the report of its death leaves behind. */
function pretendFailure(t) {
  const { state } = createRequire(import.meta.url)('../lib/reactor.js');
  state.failure = new Error('The reactor thread failed: as pretended');
  t.teardown(() => {
    state.failure = null;
  });
}

ownOnly('an HTTP server goes on: its connections are served on this thread', async (t) => {
  pretendFailure(t);
  const server = http.createServer();
  const wss = new WebSocketServer({ server });
  t.teardown(() => server.close());
  wss.on('connection', (ws) => ws.on('message', (data) => ws.send(data, { binary: false })));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = new wsClient(`ws://127.0.0.1:${server.address().port}`);
  t.teardown(() => client.terminate());
  await once(client, 'open');
  client.send('hello');
  t.is(String((await once(client, 'message'))[0]), 'hello');
  client.close();
  t.is((await once(client, 'close'))[0], 1005);
});

ownOnly('a port: an error', async (t) => {
  pretendFailure(t);
  const wss = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  t.is((await once(wss, 'error'))[0].message, 'The reactor thread failed: as pretended');
  wss.close();
  await once(wss, 'close');
});

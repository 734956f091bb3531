// The reactor on the JavaScript thread (`reactors: 0`). Behaviour that does not depend on the
// thread is tested by all the other files with REACTOR_WS_REACTORS=0.
import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';

import test from 'ava';

import { connect } from '../helpers/clients.mjs';
import { isReference, startServer } from '../helpers/impl.mjs';
import { RawClient, upgradeRequest } from '../helpers/raw-client.mjs';

const ownOnly = isReference ? test.skip : test;
const linuxOnly = isReference || process.platform !== 'linux' ? test.skip : test;

linuxOnly('there is no reactor thread', async (t) => {
  const server = await startServer(t, { reactors: 0 });
  await connect(t, server);
  const names = readdirSync('/proc/self/task').map((id) => readFileSync(`/proc/self/task/${id}/comm`, 'utf8').trim());
  t.false(names.includes('reactor-ws'));
});

ownOnly('a reply leaves with the turn of its message, other sends with their own', async (t) => {
  const server = await startServer(t, { reactors: 0 });
  const { ws, client } = await connect(t, server);
  const got = [];
  const all = new Promise((resolve) => {
    client.on('message', (data) => got.push(String(data)) === 4 && resolve());
  });
  ws.on('message', (data) => {
    ws.send(data);
    t.is(ws.bufferedAmount, 2 + 'from a handler'.length);
    queueMicrotask(() => {
      ws.send('from a microtask');
      setImmediate(() => {
        t.is(ws.bufferedAmount, 0);
        ws.send('from an immediate', () => ws.send('from a callback'));
      });
    });
  });
  client.send('from a handler');
  await all;
  t.deepEqual(got, ['from a handler', 'from a microtask', 'from an immediate', 'from a callback']);
});

ownOnly('timers of the protocol run while nothing else does', async (t) => {
  const impatient = await startServer(t, { reactors: 0, handshakeTimeout: 40 });
  const silent = await RawClient.connect(t, impatient.address().port);
  t.is(await silent.closed(), '');
  const server = await startServer(t, { reactors: 0, pingInterval: 20 });
  const deaf = await RawClient.connect(t, server.address().port);
  const connected = once(server, 'connection');
  deaf.send(upgradeRequest());
  const [ws] = await connected;
  const [code] = await once(ws, 'close');
  t.is(code, 1006);
});

ownOnly('more than a turn reads comes in, in order, with others in between', async (t) => {
  const server = await startServer(t, { reactors: 0 });
  const { ws, client } = await connect(t, server);
  const other = await connect(t, server);
  other.ws.on('message', (data) => other.ws.send(data));
  const total = 2000;
  let next = 0;
  const arrived = new Promise((resolve) => {
    ws.on('message', (data) => {
      t.is(data.readUInt32LE(), next);
      if (++next === total) resolve();
    });
  });
  for (let i = 0; i < total; i++) {
    const data = Buffer.alloc(4096);
    data.writeUInt32LE(i);
    client.send(data);
  }
  other.client.send('still there');
  t.is(String((await once(other.client, 'message'))[0]), 'still there');
  await arrived;
});

ownOnly('a server that closes and connections that end within a delivery', async (t) => {
  const server = await startServer(t, { reactors: 0 });
  const [first, second] = [await connect(t, server), await connect(t, server)];
  const ends = [first, second].map(({ client }) => once(client, 'close'));
  first.ws.on('message', () => {
    server.close();
    first.ws.close(4000);
    second.ws.terminate();
  });
  first.client.send('end');
  const closed = once(server, 'close');
  t.deepEqual((await Promise.all(ends)).map(([code]) => code), [4000, 1006]);
  await closed;
});

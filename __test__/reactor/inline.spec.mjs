// The reactor on the JavaScript thread (`reactors: 0`). Behaviour that does not depend on the
// thread is tested by all the other files with REACTOR_WS_REACTORS=0.
import { figures } from '../helpers/figures.mjs';
import { connect, openPair, ownOnLinux, ownOnly, startServer } from '../helpers/index.mjs';

ownOnLinux('there is no reactor thread', async (t) => {
  const server = await startServer(t, { reactors: 0 });
  await connect(t, server);
  t.is(figures().threads, 0);
});

ownOnly('a reply leaves with the turn of its message, other sends with their own', async (t) => {
  const { ws, client } = await openPair(t, { reactors: 0 });
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

ownOnly('of long replies of one turn, the first leaves at once, and the others leave together', async (t) => {
  const { ws, client } = await openPair(t, { reactors: 0 });
  const payloads = [1, 2, 3].map((byte) => Buffer.alloc(16 * 1024, byte));
  const [one, two] = payloads;
  const frame = 16 * 1024 + 4;
  const got = [];
  const all = new Promise((resolve) => {
    client.on('message', (data) => got.push(data) === 8 && resolve());
  });
  const waiting = [];
  const send = (some) => {
    for (const payload of some) {
      ws.send(payload);
      waiting.push(ws.bufferedAmount);
    }
  };
  ws.once('message', () => {
    send(payloads);
    setImmediate(send, payloads);
    // Each is the first of its turn.
    setImmediate(send, [one]);
    setImmediate(send, [two]);
  });
  client.send('');
  await all;
  t.deepEqual(got, [...payloads, ...payloads, one, two]);
  t.deepEqual(waiting, [0, frame, 2 * frame, 0, frame, 2 * frame, 0, 0]);
});

// Turns of the event loop: how long one may take, and what comes between two of them.
import { once } from 'node:events';
import { createRequire } from 'node:module';

import { connectMany, frame, isReference, openPair, openRaw, ownOnly, startServer, test } from '../helpers/index.mjs';

// F22.
test('timers run while messages keep coming', async (t) => {
  const { ws, client } = await openPair(t);
  let isRunning = true;
  ws.on('message', (data) => {
    if (isRunning) ws.send(data);
  });
  client.on('message', (data) => client.send(data));
  for (let index = 0; index < 100; index++) client.send('x');
  await new Promise((resolve) => setTimeout(resolve, 20));
  isRunning = false;
  t.pass();
});

ownOnly('a turn in which connections end is over after one of them, however long their listeners take', async (t) => {
  const server = await startServer(t);
  const count = 40;
  const all = await connectMany(t, server, count);
  const ofTurn = new Map();
  let turnNumber = 0;
  let isOver = false;
  const nextTurn = () => {
    turnNumber++;
    if (!isOver) setImmediate(nextTurn);
  };
  nextTurn();
  const closed = all.map(async ({ ws }) => {
    await once(ws, 'close');
    ofTurn.set(turnNumber, (ofTurn.get(turnNumber) ?? 0) + 1);
    // Leaving many topics takes as long.
    for (const until = performance.now() + 5; performance.now() < until; );
  });
  for (const { client } of all) client._socket.destroy();
  // The messages come together.
  for (const until = performance.now() + 100; performance.now() < until; );
  await Promise.all(closed);
  isOver = true;
  t.true(Math.max(...ofTurn.values()) <= 4, `${[...ofTurn.values()]}`);
});

(isReference ? test.skip : test.serial)('when a turn ends within a batch, the reactor hears which of its records were handled', async (t) => {
  const { state } = createRequire(import.meta.url)('../../lib/reactor/reactors.js');
  const { DELIVERED_RECORDS } = createRequire(import.meta.url)('../../lib/base/layout.js');
  const { ws, raw } = await openRaw(t);
  const { deliver } = state.calls;
  t.teardown(() => (state.calls.deliver = deliver));
  const told = [];
  let handled = 0;
  state.calls.deliver = () => {
    told.push([state.words[DELIVERED_RECORDS], handled]);
    return deliver();
  };
  const total = 1000;
  const done = new Promise((resolve) => {
    ws.on('message', () => {
      for (const until = performance.now() + 0.1; performance.now() < until; );
      if (++handled === total) resolve();
    });
  });
  void raw.send(Buffer.concat(Array(total).fill(frame(1, 'x'))));
  await done;
  t.not(told.length, 0);
  for (const [count, until] of told) t.true(count > 0 && count <= until, `${count} of ${until}`);
});

ownOnly('a turn ends in time, also in the middle of what one connection has sent at once', async (t) => {
  const total = 10_000;
  const work = 0.05;
  const { ws, raw } = await openRaw(t);
  let handled = 0;
  let ofTurn = 0;
  let most = 0;
  const done = new Promise((resolve) => {
    ws.on('message', () => {
      const until = performance.now() + work;
      while (performance.now() < until);
      if (ofTurn++ === 0) {
        setImmediate(() => {
          most = Math.max(most, ofTurn);
          ofTurn = 0;
          if (handled === total) resolve();
        });
      }
      handled++;
    });
  });
  void raw.send(Buffer.concat(Array(total).fill(frame(1, 'x'))));
  await done;
  // 8 ms and up to 64 messages more, and two such turns in one turn of the event loop.
  t.true(most <= 2 * (8 / work + 64), `${most} messages in a turn`);
});

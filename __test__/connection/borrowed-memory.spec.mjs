// The memory of borrowed messages: what leads to it, and what it is used for next.
import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { connect, frame, frames, openPair, openRaw, ownOnly, ownSerial, startServer } from '../helpers/index.mjs';

const BORROWED = { messages: 'borrowed' };

/** A Blob that is read when `read` is called. */
function slowBlob(text) {
  let read;
  const reading = new Promise((resolve) => {
    read = () => resolve(new TextEncoder().encode(text).buffer);
  });
  return { blob: Object.assign(new Blob([text]), { arrayBuffer: () => reading }), read };
}

for (const isFrozen of [false, true]) {
  ownOnly(`nothing leads from a kept message to others${isFrozen ? ', also if its memory is frozen' : ''}`, async (t) => {
    const { ws, client } = await openPair(t, BORROWED);
    const kept = [];
    ws.on('message', (data) => {
      if (isFrozen) Object.freeze(data.buffer);
      kept.push({ data, buffer: data.buffer });
      ws.send('next');
    });
    for (let n = 0; n < 5; n++) {
      const answered = once(client, 'message');
      client.send('of another');
      await answered;
    }
    while (kept.some(({ data }) => data.length !== 0)) await nextTurn();
    for (const { buffer } of kept) {
      t.deepEqual(Reflect.ownKeys(buffer), []);
    }
  });
}

ownOnly('a reason of close() that waits for a Blob is whole: that of a message, and that of the peer', async (t) => {
  for (const way of ['message', 'peer']) {
    const { ws, raw } = await openRaw(t, BORROWED);
    const { blob, read } = slowBlob('a');
    const received = new Promise((resolve) => {
      ws.on('message', (data) => {
        ws.send(blob);
        if (way === 'message') ws.close(1000, data);
        resolve(data);
      });
    });
    const body = Buffer.from('03e8776879', 'hex');
    await raw.send(Buffer.concat([frame(2, 'why'), way === 'peer' ? frame(8, body) : Buffer.alloc(0)]));
    const data = await received;
    while (data.length !== 0) await nextTurn();
    read();
    t.is(await frames(raw, 10), '820161' + '880503e8776879', way);
  }
});

ownSerial('messages of another server of the thread share memory', async (t) => {
  const servers = [await startServer(t), await startServer(t, BORROWED)];
  const [owned, borrowed] = await Promise.all(servers.map((server) => connect(t, server)));
  const kept = [];
  owned.ws.on('message', (data) => {
    kept.push(data);
    owned.ws.send('next');
  });
  borrowed.ws.on('message', (data) => borrowed.ws.send(data));
  // By turns: a batch of each kind.
  for (let n = 0; n < 500; n++) {
    for (const { client } of [borrowed, owned]) {
      const answered = once(client, 'message');
      client.send(`${n}`);
      await answered;
    }
  }
  t.deepEqual(kept.map(String), Array.from({ length: 500 }, (_, n) => `${n}`));
  // Batches in which a connection opens take others.
  t.true(new Set(kept.map((data) => data.buffer)).size < 10, `${new Set(kept.map((data) => data.buffer)).size}`);
});

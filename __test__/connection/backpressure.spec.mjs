// Bytes that wait to be sent, and the report to the sender that the bytes have left.
import { once } from 'node:events';
import { createRequire } from 'node:module';

import { connect, implementation, isWrittenAtOnce, isReference, openPair, ownOnly, ownSerial, startServer, test, urlOf } from '../helpers/index.mjs';

const outbox = isReference ? {} : createRequire(import.meta.url)('../../lib/reactor/outbox.js');

const EIGHT_MIB = 8 * 1024 * 1024;
const HEADER = 10;

/** An open connection whose client does not read. */
async function openDeaf(t) {
  const { ws, client } = await openPair(t);
  client._socket.pause();
  return { ws, client, read: () => client._socket.resume() };
}

/** Right after a send; without a thread, as in ws, the kernel has taken its part by then. */
function isBuffered(t, ws, bytes) {
  if (isWrittenAtOnce || isReference) t.true(ws.bufferedAmount > 0 && ws.bufferedAmount <= bytes);
  else t.is(ws.bufferedAmount, bytes);
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

// R01.
test('bufferedAmount: the whole frame at once, less as it leaves, 0 when all has', async (t) => {
  const { ws, client, read } = await openDeaf(t);
  let isSent = false;
  const sent = new Promise((resolve) => {
    ws.send(Buffer.alloc(EIGHT_MIB), () => {
      isSent = true;
      resolve();
    });
  });
  isBuffered(t, ws, EIGHT_MIB + HEADER);
  // The kernel takes fewer bytes than that without a reader.
  for (let i = 0; i < 100; i++) {
    await nextTurn();
    t.true(ws.bufferedAmount > 0 && ws.bufferedAmount <= EIGHT_MIB + HEADER);
  }
  t.false(isSent);
  const received = once(client, 'message');
  read();
  await sent;
  t.is(ws.bufferedAmount, 0);
  t.is((await received)[0].length, EIGHT_MIB);
});

ownOnly("'drain' comes when at most half of the mark of 1 MiB is left, once", async (t) => {
  const { ws, read } = await openDeaf(t);
  let drains = 0;
  ws.on('drain', () => drains++);
  ws.send(Buffer.alloc(EIGHT_MIB));
  ws.send('a');
  isBuffered(t, ws, EIGHT_MIB + HEADER + 3);
  for (let i = 0; i < 100; i++) await nextTurn();
  t.is(drains, 0);
  const drained = once(ws, 'drain');
  const sent = new Promise((resolve) => ws.send('b', resolve));
  read();
  await drained;
  t.true(ws.bufferedAmount <= 512 * 1024);
  await sent;
  t.is(ws.bufferedAmount, 0);
  t.is(drains, 1);
});

ownOnly('send() returns false from 1 MiB on, and true again after the drain', async (t) => {
  const { ws, read } = await openDeaf(t);
  t.true(ws.send(Buffer.alloc(1024 * 1024 - HEADER - 3)));
  if (!isWrittenAtOnce) {
    t.is(ws.bufferedAmount, 1024 * 1024 - 3);
    t.false(ws.send('a'));
  }
  // More than the kernel takes for a peer that does not read.
  t.false(ws.send(Buffer.alloc(EIGHT_MIB)));
  const drained = once(ws, 'drain');
  read();
  await drained;
  t.true(ws.send('b'));
});

ownOnly("'drain' follows each false, whichever thread is quicker", async (t) => {
  const { ws } = await openPair(t);
  const data = Buffer.alloc(1000);
  for (let round = 0; round < 200; round++) {
    const drained = once(ws, 'drain');
    while (ws.send(data));
    await drained;
  }
  t.true(ws.bufferedAmount <= 512 * 1024);
});

ownOnly('send() returns false when nothing can be sent', async (t) => {
  const { ws } = await openPair(t);
  t.true(ws.send('a'));
  t.true(ws.send(new Blob(['a'])));
  ws.close();
  t.false(ws.send('b', () => {}));
  await once(ws, 'close');
  t.false(ws.send('c', () => {}));
});

/** Calls back when its bytes are to be there. */
class SlowBlob {
  type = '';
  [Symbol.toStringTag] = 'Blob';

  constructor(size) {
    this.size = size;
    this.read = new Promise((resolve) => (this.arrive = () => resolve(new ArrayBuffer(size))));
  }

  stream() {}

  arrayBuffer() {
    return this.read;
  }
}

/** An open connection of this package to one that reads. */
async function openSender(t, role) {
  const server = await startServer(t);
  if (role === 'ws') return (await connect(t, server)).ws;
  server.on('connection', (ws) => ws.on('error', () => {}));
  const client = new implementation.WebSocket(urlOf(server));
  t.teardown(() => client.terminate());
  await once(client, 'open');
  return client;
}

/** Records that the package gives to its reactors meanwhile. */
async function recordsIn(act) {
  const { push } = outbox;
  let count = 0;
  outbox.push = (...args) => (count++, push(...args));
  try {
    await act();
  } finally {
    outbox.push = push;
  }
  return count;
}

// It asked again and again whether bytes had left that could not leave: a client's process hung.
for (const role of ['ws', 'client']) {
  ownSerial(`${role}: a Blob that is read late: 'drain' follows, and nothing is asked meanwhile`, async (t) => {
    for (const [first, second] of [[2 * EIGHT_MIB, 1], [10, EIGHT_MIB]]) {
      const sender = await openSender(t, role);
      const blob = new SlowBlob(first);
      const drained = once(sender, 'drain');
      const count = await recordsIn(async () => {
        sender.send(blob);
        t.false(sender.send(Buffer.alloc(second)));
        for (let turns = 0; turns < 20; turns++) await nextTurn();
      });
      t.true(count < 5, `${count} records`);
      blob.arrive();
      await drained;
      t.true(sender.bufferedAmount <= EIGHT_MIB);
    }
  });
}

ownSerial("bytes that the program writes to the stream: nothing is asked until they have left", async (t) => {
  const sender = await openSender(t, 'client');
  sender.on('error', () => {});
  const count = await recordsIn(async () => {
    sender._socket.write(Buffer.alloc(2 * EIGHT_MIB));
    t.false(sender.send(Buffer.alloc(EIGHT_MIB)));
    for (let turns = 0; turns < 20; turns++) await nextTurn();
  });
  t.true(count < 5, `${count} records`);
});

ownOnly("a connection that closes before the 'drain': none follows", async (t) => {
  const { ws } = await openDeaf(t);
  ws.on('drain', () => t.fail());
  t.false(ws.send(Buffer.alloc(EIGHT_MIB)));
  await nextTurn();
  const closed = once(ws, 'close');
  ws.terminate();
  await closed;
  await nextTurn();
  t.pass();
});

test('bufferedAmount: control frames count, pongs that the reactor sends by itself do not stay', async (t) => {
  const { ws, client } = await openPair(t);
  ws.send('abc');
  ws.ping('ab');
  ws.pong();
  // The first message is on its way at once; in ws all messages have been written.
  if (isReference) t.is(ws.bufferedAmount, 0);
  else t.true([5 + 4 + 2, 4 + 2].includes(ws.bufferedAmount));
  for (let i = 0; i < 20; i++) {
    client.ping('x'.repeat(i));
    await once(client, 'pong');
    t.true(ws.bufferedAmount >= 0);
  }
  await new Promise((resolve) => ws.send('d', resolve));
  t.is(ws.bufferedAmount, 0);
});

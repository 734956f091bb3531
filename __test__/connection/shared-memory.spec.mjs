// Another thread may write to a SharedArrayBuffer while native code looks at it, which Rust must
// never see: native code gets copies.
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { types } from 'node:util';
import { Worker } from 'node:worker_threads';

import { connect, frame, nextEvents, openPair, urlOf } from '../helpers/clients.mjs';
import { implementation, isReference, ownSerial, rawPair, startServer } from '../helpers/index.mjs';

/** Names of the native functions that were given shared memory. */
const offenders = new Set();

function isShared(value) {
  return ArrayBuffer.isView(value) ? types.isSharedArrayBuffer(value.buffer) : types.isSharedArrayBuffer(value);
}

/** Checks the arguments of a native function; functions that it returns are checked too. */
function watched(name, native) {
  return function look(...args) {
    if (args.some(isShared)) offenders.add(name);
    const result = Reflect.apply(native, this, args);
    return typeof result === 'function' ? watched(name, result) : result;
  };
}

// Before anything is started, because the start looks functions up once.
if (!isReference) {
  const binding = createRequire(import.meta.url)('../../lib/reactor/addon.js').addon();
  for (const { prototype } of [binding.Reactor, binding.FrameReader]) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      if (typeof value === 'function' && name !== 'constructor') prototype[name] = watched(name, value);
    }
  }
}

/** Lengths on both sides of every length at which the path of a payload changes. */
const SIZES = [1, 125, 126, 2047, 4095, 4096, 16_383, 16_384, 65_535, 65_536, 65_537, 320 * 1024, 1 << 20];

function toShared(bytes) {
  const shared = Buffer.from(new SharedArrayBuffer(bytes.length));
  bytes.copy(shared);
  return shared;
}

/** Sends shared memory, in all sizes and every kind of view, to each of `senders` in turn. */
async function sendAll(t, senders, receivers) {
  for (const size of SIZES) {
    const bytes = toShared(Buffer.from(Array.from({ length: size }, (_, i) => i % 251)));
    const views = [bytes, bytes.buffer, new DataView(bytes.buffer)];
    const received = receivers.map(async (receiver) => {
      for (const [data] of await nextEvents(receiver, 'message', views.length)) t.true(data.equals(bytes), `${size}`);
    });
    for (const view of views) for (const sender of senders) sender.send(view);
    await Promise.all(received);
  }
  t.deepEqual([...offenders], []);
}

for (const perMessageDeflate of [false, true]) {
  const how = perMessageDeflate ? ', compressed' : '';

  ownSerial(`a reactor${how}`, async (t) => {
    const server = await startServer(t, { perMessageDeflate });
    const pairs = [await connect(t, server), await connect(t, server)];
    await sendAll(t, pairs.map(({ ws }) => ws), pairs.map(({ client }) => client));
  });

  ownSerial(`a client${how}`, async (t) => {
    const server = await startServer(t, { perMessageDeflate });
    const client = new implementation.WebSocket(urlOf(server), { perMessageDeflate });
    const [[ws]] = await Promise.all([once(server, 'connection'), once(client, 'open')]);
    t.teardown(() => client.terminate());
    await sendAll(t, [client], [ws]);
  });
}

ownSerial('what a stream gives, and what a Receiver is given', async (t) => {
  const bytes = toShared(frame(1, 'hello'));
  const { ws, near } = rawPair();
  const received = once(ws, 'message');
  near.push(bytes);
  t.is(String((await received)[0]), 'hello');
  const receiver = new implementation.Receiver({ isServer: true });
  const told = once(receiver, 'message');
  receiver.write(bytes);
  t.is(String((await told)[0]), 'hello');
  t.deepEqual([...offenders], []);
});

// J10.
ownSerial('another thread writes to shared memory while it is sent: the frames are whole', async (t) => {
  const { ws, client } = await openPair(t);
  const shared = new Uint8Array(new SharedArrayBuffer(100_000));
  const source = `const { workerData } = require('node:worker_threads'); for (let i = 0; ; i++) workerData.fill(i & 0xff);`;
  const worker = new Worker(source, { eval: true, workerData: shared });
  await once(worker, 'online');
  const received = nextEvents(client, 'message', 200);
  for (let i = 0; i < 100; i++) {
    ws.send(shared);
    ws.send(shared.subarray(0, 1000));
  }
  t.deepEqual((await received).map(([data]) => data.length), Array.from({ length: 200 }, (_, i) => (i % 2 ? 1000 : 100_000)));
  await worker.terminate();
});

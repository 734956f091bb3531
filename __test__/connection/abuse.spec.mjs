// Programs that misuse the API: the misuse harms no other connection and never the process.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

import test from 'ava';

import { Child } from '../helpers/child.mjs';
import { connect, frame, nextEvents, openPair, openRaw } from '../helpers/clients.mjs';
import { isReference, startServer } from '../helpers/impl.mjs';
import { RawClient, upgradeRequest } from '../helpers/raw-client.mjs';

const ownOnly = isReference ? test.skip : test;

function block(milliseconds) {
  const until = performance.now() + milliseconds;
  while (performance.now() < until);
}

/**
 * Connections with next frames that come in one batch: `send` sends them, and then the event loop
 * is held up.
 */
async function openSome(t, count) {
  const server = await startServer(t);
  const all = [];
  for (let i = 0; i < count; i++) all.push(await connect(t, server));
  return { server, all };
}

// J02.
ownOnly('every handler throws: each error is uncaught, nothing else is lost', async (t) => {
  const child = new Child(t, 'throwing.mjs');
  const port = await child.line(0);
  for (let i = 0; i < 2; i++) {
    const raw = await RawClient.connect(t, port);
    const part = [frame(1, 'a'), frame(9, 'b'), frame(10, 'c'), frame(2, 'd'), i === 0 ? frame(3) : frame(8)];
    await raw.send(upgradeRequest());
    await raw.until((text) => text.includes('hello'));
    await raw.send(Buffer.concat(part));
    raw.end();
    await raw.closed();
  }
  const { code, stdout, stderr } = await child.ended();
  t.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  const both = ['connection', 'callback', 'message a', 'ping b', 'pong c', 'message d', 'close'];
  const expected = [...both, ...both, 'error', 'server closed'].sort();
  t.deepEqual(stdout.trim().split('\n').slice(1).map((line) => line.split(' Invalid')[0]).sort(), expected);
});

// J06.
test('a handler terminates and closes others whose messages came in the same batch', async (t) => {
  const { all } = await openSome(t, 4);
  const log = [];
  const names = new Map();
  // Whichever message is the first: there is no order between connections.
  const onFirst = (first) => {
    const [terminated, closing, deaf] = all.filter(({ ws }) => ws !== first);
    for (const [name, { ws }] of Object.entries({ terminated, closing, deaf })) names.set(ws, name);
    terminated.ws.terminate();
    closing.ws.close();
    deaf.ws.removeAllListeners('message');
  };
  const closed = new Promise((resolve) => {
    let count = 0;
    for (const { ws } of all) {
      ws.on('message', (data) => (names.size === 0 ? onFirst(ws) : log.push(`${names.get(ws)} ${data}`)));
      ws.on('close', (code) => {
        log.push(`${names.get(ws)} closed ${code}`);
        if (++count === 2) resolve();
      });
    }
  });
  for (const { client } of all) client.send('x');
  await closed;
  t.true(log.includes('terminated closed 1006') && log.includes('closing x') && log.includes('closing closed 1005'));
  if (!isReference) t.false(log.includes('terminated x') || log.includes('deaf x'), log.join());
});

// J06.
test('the server is closed in a handler: its connections go on', async (t) => {
  const { server, all: [a, b] } = await openSome(t, 2);
  a.ws.on('message', () => server.close());
  b.ws.on('message', (data) => b.ws.send(data));
  const echo = once(b.client, 'message');
  a.client.send('close');
  b.client.send('echo');
  t.is(String((await echo)[0]), 'echo');
  const closed = once(server, 'close');
  for (const { client } of [a, b]) client.close();
  await closed;
});

// J07.
test('clients are added and removed while server.clients is iterated', async (t) => {
  const { server, all } = await openSome(t, 5);
  for (const ws of server.clients) {
    ws.terminate();
    server.clients.delete(ws);
  }
  await Promise.all(all.map(({ ws }) => ws.readyState === 3 || once(ws, 'close')));
  t.is(server.clients.size, 0);
});

// J08.
test('send within the callback of send, a thousand times', async (t) => {
  const { ws, client } = await openPair(t);
  const received = nextEvents(client, 'message', 1000);
  let depth = 0;
  let count = 0;
  const next = () => {
    depth++;
    t.is(depth, 1);
    if (count < 1000) ws.send(String(count++), next);
    depth--;
  };
  next();
  t.deepEqual((await received).map(([data]) => Number(data)), [...Array(1000).keys()]);
});

for (const size of [10, 3000, 5000, 200_000]) {
  // J09, J10.
  ownOnly(`${size} bytes are changed, detached, shrunk or shared right after send()`, async (t) => {
    const { ws, client } = await openPair(t);
    const received = nextEvents(client, 'message', 4);
    const whole = Buffer.alloc(size, 'a');

    const changed = new Uint8Array(whole);
    ws.send(changed);
    changed.fill(0);

    const detached = new Uint8Array(whole);
    ws.send(detached);
    structuredClone(detached.buffer, { transfer: [detached.buffer] });
    t.is(detached.length, 0);

    const shrinking = new Uint8Array(new ArrayBuffer(size, { maxByteLength: size }));
    shrinking.set(whole);
    ws.send(shrinking);
    shrinking.buffer.resize?.(1);

    const shared = new Uint8Array(new SharedArrayBuffer(size));
    shared.set(whole);
    ws.send(shared);
    shared.fill(0);

    for (const [data] of await received) t.true(data.equals(whole), data.subarray(0, 20).toString());
    t.throws(() => ws.send(detached), { instanceOf: TypeError });
  });
}

// J10.
ownOnly('another thread writes to shared memory while it is sent: the frames are whole', async (t) => {
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

// J12.
test('what send() cannot use throws, and the connection lives on', async (t) => {
  const { ws, client } = await openPair(t);
  const evil = {
    get length() {
      throw new Error('from a getter');
    },
  };
  for (const data of [{}, Symbol('s'), 10n, () => {}, evil, new Proxy(Buffer.from('x'), {})]) {
    t.throws(() => ws.send(data), undefined, typeof data);
    t.throws(() => ws.ping(typeof data === 'function' ? {} : data), undefined, typeof data);
  }
  const getter = {
    get fin() {
      throw new Error('from an option');
    },
  };
  t.throws(() => ws.send('x', getter), { message: 'from an option' });
  // Only the payload's own bytes: any others would be foreign memory.
  const liar = Object.defineProperty(new Uint8Array([1, 2]), 'length', { value: 5000 });
  ws.send(liar);
  t.deepEqual([...(await once(client, 'message'))[0]], [1, 2]);
  ws.send('alive');
  t.is(String((await once(client, 'message'))[0]), 'alive');
});

// J11.
ownOnly('received Buffers stay as they are for as long as they are kept, whatever is done to others', async (t) => {
  const { ws, raw } = await openRaw(t);
  const kept = [];
  const total = 20_000;
  const lengthOf = (i) => (i % 500 === 0 ? 100_000 : (i * 13) % 126);
  const done = new Promise((resolve) => {
    ws.on('message', (data) => {
      kept.push(data);
      // Every third is abused at once: overwritten, given away, detached.
      if (kept.length % 3 === 0) abuse(data);
      if (kept.length === total) resolve();
    });
  });
  const frames = [];
  for (let i = 0; i < total; i++) {
    const payload = Buffer.alloc(lengthOf(i), i & 0xff);
    if (payload.length < 126) frames.push(frame(2, payload));
    else frames.push(Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0, payload.length >> 16, payload.length >> 8, payload.length, 0, 0, 0, 0]), payload);
  }
  await raw.send(Buffer.concat(frames));
  await done;
  const wrong = kept.filter((data, i) => i % 3 !== 2 && !data.equals(Buffer.alloc(lengthOf(i), i & 0xff)));
  t.is(wrong.length, 0);
});

function abuse(data) {
  data.fill(0xee);
  try {
    structuredClone(data.buffer, { transfer: [data.buffer] });
  } catch {
    // Later versions of Node throw.
  }
  try {
    data.buffer.transfer();
  } catch {
    // Node 20 has no such method, and later versions throw.
  }
}

test('blocked between two messages of one chunk: both come', async (t) => {
  const { ws, raw } = await openRaw(t);
  const messages = nextEvents(ws, 'message', 2);
  ws.once('message', () => block(200));
  await raw.send(Buffer.concat([frame(1, 'a'), frame(1, 'b')]));
  t.deepEqual((await messages).map(([data]) => String(data)), ['a', 'b']);
});

for (const when of ['before', 'after']) {
  // J15.
  ownOnly(`Object.prototype is polluted ${when} the package is loaded: options and messages are as ever`, async (t) => {
    const child = new Child(t, 'polluted.mjs', [when]);
    const raw = await RawClient.connect(t, await child.line(0));
    await raw.send(upgradeRequest({ 'Sec-WebSocket-Protocol': 'good' }));
    const answer = await raw.until((text) => text.includes('\r\n\r\n'));
    t.true(answer.startsWith('HTTP/1.1 101 ') && !answer.includes('evil'), answer);
    await raw.send(Buffer.concat([frame(2, 'binary', false), frame(0, 'binary', false), frame(0), frame(9, 'p'), frame(1, 'text')]));
    const text = await raw.until((all) => all.endsWith('text'));
    t.is(text.slice(answer.length), '\x8a\x01p\x82\x0cbinarybinary\x81\x04text');
    await raw.send(frame(8));
    raw.end();
    t.like(await child.ended(), { code: 0, stderr: '' });
  });
}

// J05.
ownOnly('terminate: what was received with it is dropped', async (t) => {
  const { ws, raw } = await openRaw(t);
  const events = [];
  ws.on('message', (data) => {
    events.push(String(data));
    ws.terminate();
  });
  const closed = once(ws, 'close');
  raw.send(Buffer.concat([frame(1, 'a'), frame(1, 'b'), frame(9, 'c'), frame(8)]));
  t.is((await closed)[0], 1006);
  t.deepEqual(events, ['a']);
});

// Option `messages: 'borrowed'`: a message is intact until its handler returns, and empty
// afterwards, never anything else.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import test from 'ava';

import { connect, frame, openRaw } from './helpers/clients.mjs';
import { WebSocketServer, implementation, isReference, startServer } from './helpers/impl.mjs';
import { WAYS } from './helpers/ways.mjs';

// The server of ws has no such option.
const ownOnly = isReference ? test.skip : test;
const serialOnly = isReference ? test.serial.skip : test.serial;

/**
 * Lengths around those of messages that are copied to a slab, come with the memory of their batch,
 * and have memory of their own.
 */
const SIZES = [1, 20, 125, 126, 4096, 16 * 1024, 64 * 1024 - 1, 64 * 1024, 200_000, 1024 * 1024];
const BORROWED = { messages: 'borrowed' };

const payload = (size, n) => Buffer.alloc(size, `${n},`);

/** Notes the messages of the handlers, and whether they are the expected ones. */
class Kept {
  /** Of each message: the kept view, and a copy of the content. */
  messages = [];
  wrong = 0;

  /** @param {Buffer} data @param {Buffer} [expected] */
  take(data, expected = Buffer.from(data)) {
    if (!expected.equals(data)) this.wrong++;
    this.messages.push({ data, buffer: data.buffer, part: data.subarray(data.length >> 1), bytes: Buffer.from(expected) });
  }

  get areEmpty() {
    return this.messages.every(({ data, buffer, part }) => data.length + buffer.byteLength + part.length === 0);
  }

  /** Messages that are neither empty nor what they were. */
  get changed() {
    return this.messages.filter(({ data, bytes }) => data.length !== 0 && !data.equals(bytes)).length;
  }

  async untilEmpty() {
    while (!this.areEmpty) await nextTurn();
  }
}

async function until(isTrue) {
  while (!isTrue()) await nextTurn();
}

for (const way of ['port', 'server']) {
  for (const isText of [false, true]) {
    ownOnly(`${way}: ${isText ? 'texts' : 'bytes'} of all lengths`, async (t) => {
      const server = await WAYS[way](t, BORROWED);
      const { ws, client } = await connect(t, server);
      const kept = new Kept();
      const sent = SIZES.flatMap((size) => Array.from({ length: 5 }, (_, n) => payload(size, n)));
      ws.on('message', (data, isBinary) => {
        t.is(isBinary, !isText);
        kept.take(data, sent[kept.messages.length]);
        ws.send(data);
      });
      const echoes = [];
      client.on('message', (data) => echoes.push(data));
      for (const bytes of sent) client.send(bytes, { binary: !isText });
      await until(() => echoes.length === sent.length);
      t.true(echoes.every((data, n) => data.equals(sent[n])));
      t.is(kept.wrong, 0);
      await kept.untilEmpty();
      t.pass();
    });
  }

  ownOnly(`${way}: compressed`, async (t) => {
    const server = await WAYS[way](t, { ...BORROWED, perMessageDeflate: { threshold: 0 } });
    const { ws, client } = await connect(t, server, { perMessageDeflate: { threshold: 0 } });
    const kept = new Kept();
    ws.on('message', (data) => kept.take(data, payload(SIZES[kept.messages.length], 1)));
    for (const size of SIZES) client.send(payload(size, 1));
    await until(() => kept.messages.length === SIZES.length);
    t.is(kept.wrong, 0);
    await kept.untilEmpty();
  });

  ownOnly(`${way}: kept over an await, and by a promise job`, async (t) => {
    const server = await WAYS[way](t, BORROWED);
    const { ws, client } = await connect(t, server);
    const kept = new Kept();
    let later = 0;
    ws.on('message', async (data) => {
      kept.take(data, payload(20_000, 1));
      for (let n = 0; n < 3; n++) await nextTurn();
      later += data.length;
    });
    for (let n = 0; n < 50; n++) client.send(payload(20_000, 1));
    await until(() => kept.messages.length === 50);
    await kept.untilEmpty();
    t.deepEqual([kept.wrong, later], [0, 0]);
  });

  ownOnly(`${way}: paused in a handler, resumed later`, async (t) => {
    const server = await WAYS[way](t, BORROWED);
    const { ws, client } = await connect(t, server);
    const kept = new Kept();
    ws.on('message', (data) => {
      kept.take(data, payload(5000, kept.messages.length));
      ws.pause();
      setImmediate(() => ws.resume());
    });
    for (let n = 0; n < 40; n++) client.send(payload(5000, n));
    await until(() => kept.messages.length === 40);
    t.is(kept.wrong, 0);
    await kept.untilEmpty();
  });

  ownOnly(`${way}: one event in each turn`, async (t) => {
    const server = await WAYS[way](t, { ...BORROWED, allowSynchronousEvents: false });
    const { ws, client } = await connect(t, server);
    const kept = new Kept();
    ws.on('message', (data) => kept.take(data, payload(3000, kept.messages.length)));
    for (let n = 0; n < 40; n++) client.send(payload(3000, n));
    await until(() => kept.messages.length === 40);
    t.is(kept.wrong, 0);
    await kept.untilEmpty();
  });

  for (const end of ['close', 'terminate']) {
    ownOnly(`${way}: ${end}() in a handler`, async (t) => {
      const server = await WAYS[way](t, BORROWED);
      const { ws, client } = await connect(t, server);
      const kept = new Kept();
      ws.on('message', (data) => {
        kept.take(data, payload(9000, kept.messages.length));
        if (kept.messages.length === 3) ws[end]();
      });
      client.on('error', () => {});
      for (let n = 0; n < 20; n++) client.send(payload(9000, n));
      await once(ws, 'close');
      t.is(kept.wrong, 0);
      await kept.untilEmpty();
    });
  }

  ownOnly(`${way}: an ArrayBuffer and a Blob are the program's, fragments are not`, async (t) => {
    const server = await WAYS[way](t, BORROWED);
    const { ws, client } = await connect(t, server);
    for (const size of [20, 20_000, 1024 * 1024]) {
      const got = {};
      for (const type of ['arraybuffer', 'blob', 'fragments']) {
        ws.binaryType = type;
        client.send(payload(size, 1));
        [got[type]] = await once(ws, 'message');
      }
      await until(() => got.fragments[0].length === 0);
      t.true(payload(size, 1).equals(Buffer.from(got.arraybuffer)));
      t.true(payload(size, 1).equals(Buffer.from(await got.blob.arrayBuffer())));
    }
  });

  ownOnly(`${way}: a stream over a WebSocket has all that came`, async (t) => {
    const server = await WAYS[way](t, BORROWED);
    const { ws, client } = await connect(t, server);
    const stream = implementation.createWebSocketStream(ws);
    const sent = SIZES.map((size, n) => payload(size, n));
    for (const bytes of sent) client.send(bytes);
    client.close();
    t.true(Buffer.concat(await stream.toArray()).equals(Buffer.concat(sent)));
  });
}

ownOnly('fragments, pings and pongs', async (t) => {
  const { ws, raw } = await openRaw(t, BORROWED);
  const kept = new Kept();
  for (const event of ['message', 'ping', 'pong']) ws.on(event, (data) => kept.take(data, Buffer.from('abcdef'.slice(0, data.length))));
  for (let round = 0; round < 20; round++) {
    await raw.send(frame(2, 'ab', false));
    await raw.send(frame(9, 'abc'));
    await raw.send(Buffer.concat([frame(0, 'cd', false), frame(10, 'abcd'), frame(0, 'ef')]));
  }
  await until(() => kept.messages.length === 60);
  t.is(kept.wrong, 0);
  await kept.untilEmpty();
  await raw.until((text) => text.split('\x8a\x03abc').length === 21);
});

serialOnly('handlers that throw', async (t) => {
  const server = await startServer(t, BORROWED);
  const { ws, client } = await connect(t, server);
  const kept = new Kept();
  const thrown = [];
  const listeners = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', (error) => thrown.push(error));
  t.teardown(() => {
    process.removeAllListeners('uncaughtException');
    for (const listener of listeners) process.on('uncaughtException', listener);
  });
  ws.on('message', (data) => {
    kept.take(data, payload(7000, kept.messages.length));
    if (kept.messages.length % 7 === 0) throw new Error('from a handler');
  });
  for (let n = 0; n < 70; n++) client.send(payload(7000, n));
  await until(() => kept.messages.length === 70 && thrown.length === 10);
  t.is(kept.wrong, 0);
  await kept.untilEmpty();
});

serialOnly('what is kept takes no memory', async (t) => {
  const server = await startServer(t, BORROWED);
  const { ws, client } = await connect(t, server);
  const kept = [];
  ws.on('message', (data) => {
    kept.push(data);
    if (kept.length % 100 === 0) ws.send('more');
  });
  const most = { bytes: 0 };
  const before = process.memoryUsage().arrayBuffers;
  const bytes = Buffer.alloc(16 * 1024);
  for (let round = 0; round < 100; round++) {
    const answered = once(client, 'message');
    for (let n = 0; n < 100; n++) client.send(bytes);
    await answered;
    most.bytes = Math.max(most.bytes, process.memoryUsage().arrayBuffers - before);
  }
  t.is(kept.length, 10_000);
  // By now 160 MB have come.
  t.true(most.bytes < 60e6, `${most.bytes}`);
});

serialOnly('another server of the thread: its messages stay what they are', async (t) => {
  const servers = { owned: await startServer(t), borrowed: await startServer(t, BORROWED) };
  const kept = { owned: new Kept(), borrowed: new Kept() };
  const rounds = 60;
  const sizes = [1, 300, 5000, 40_000, 100_000];
  const clients = [];
  for (const [name, server] of Object.entries(servers)) {
    for (let n = 0; n < 4; n++) {
      const { ws, client } = await connect(t, server);
      ws.on('message', (data) => kept[name].take(data));
      clients.push(client);
    }
  }
  for (let round = 0; round < rounds; round++) {
    for (const [n, client] of clients.entries()) client.send(payload(sizes[(round + n) % sizes.length], round * n));
    if (round % 7 === 0) await nextTurn();
  }
  const count = (rounds * clients.length) / 2;
  await until(() => kept.owned.messages.length === count && kept.borrowed.messages.length === count);
  for (let n = 0; n < 20; n++) await nextTurn();
  t.true(kept.owned.messages.every(({ data, bytes }) => data.equals(bytes)));
  t.is(kept.borrowed.changed, 0);
});

ownOnly('over other streams, and for clients, messages are the program\'s', async (t) => {
  const server = await WAYS.stream(t, BORROWED);
  const { ws, client: reference } = await connect(t, server);
  const { address, port } = server.address();
  const client = new implementation.WebSocket(`ws://${address}:${port}`, BORROWED);
  const opened = once(server, 'connection');
  await once(client, 'open');
  const [[peer]] = await Promise.all([opened]);
  const kept = [];
  ws.on('message', (data) => kept.push(data));
  client.on('message', (data) => kept.push(data));
  for (const size of SIZES) {
    reference.send(payload(size, 1));
    peer.send(payload(size, 1));
  }
  await until(() => kept.length === 2 * SIZES.length);
  for (let n = 0; n < 5; n++) await nextTurn();
  t.true(kept.every((data) => data.equals(payload(data.length, 1))));
  client.terminate();
});

ownOnly('any other value throws', (t) => {
  for (const value of ['lent', '', true, 1, {}]) {
    t.throws(() => new WebSocketServer({ port: 0, messages: value }), { instanceOf: TypeError, message: /^options\.messages must be 'owned' or 'borrowed'\. Received / });
  }
  for (const messages of [undefined, null, 'owned']) t.notThrows(() => new WebSocketServer({ noServer: true, messages }));
});

/** The text on standard error of a program that keeps a message and touches it, or does not. */
async function warnings(environment, isTouched) {
  const lib = fileURLToPath(new URL('../lib/index.js', import.meta.url));
  const program = `
    const { WebSocket, WebSocketServer } = require(${JSON.stringify(lib)});
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1', messages: 'borrowed' }, () => {
      const client = new WebSocket('ws://127.0.0.1:' + server.address().port);
      client.on('open', () => client.send('x'));
    });
    server.on('connection', (ws) => ws.on('message', (data) => {
      setImmediate(() => setImmediate(() => {
        if (${isTouched}) console.log(JSON.stringify([data.toString(), data.length, Buffer.isBuffer(data)]));
        ws.terminate();
        server.close();
      }));
    }));`;
  const child = spawn(process.execPath, ['-e', program], { env: { ...process.env, NODE_ENV: environment } });
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) child[name].on('data', (chunk) => (said[name] += chunk));
  await once(child, 'close');
  return said;
}

ownOnly('in development an empty message says why, once', async (t) => {
  const touched = await warnings('development', true);
  t.is(touched.stdout.trim(), '["",0,true]');
  t.is(touched.stderr.split('REACTOR_WS_BORROWED').length, 2, touched.stderr);
  t.is((await warnings('development', false)).stderr, '');
  t.is((await warnings('production', true)).stderr, '');
});

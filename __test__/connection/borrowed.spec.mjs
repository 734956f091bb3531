// Option `messages: 'borrowed'`: a message is intact until its handler returns, and empty
// afterwards, never anything else.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { connect, frame, openBy, openPair, openRaw, urlOf } from '../helpers/clients.mjs';
import { ALL_WAYS as WAYS, WebSocketServer, catchUncaught, implementation, ownOnly, ownSerial, startServer } from '../helpers/index.mjs';
import { TOPIC_WAYS, connectTo } from '../helpers/topics.mjs';

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

  get areIntact() {
    return this.messages.every(({ data, buffer, part, bytes }) => data.equals(bytes) && buffer.byteLength !== 0 && part.equals(bytes.subarray(bytes.length >> 1)));
  }

  async untilEmpty() {
    while (!this.areEmpty) await nextTurn();
  }
}

/** The bytes of a message in the form of each `binaryType`; of another form they are others. */
const bytesOf = {
  nodebuffer: (data) => data,
  arraybuffer: (data) => Buffer.from(data instanceof ArrayBuffer ? data : 'no ArrayBuffer'),
  fragments: (list) => Buffer.concat(list),
  blob: async (blob) => Buffer.from(await blob.arrayBuffer()),
};

async function until(isTrue) {
  while (!isTrue()) await nextTurn();
}

/** Both ends of a connection over which `receiver` gets messages, by the way of that connection. */
const RECEIVERS = {
  ...Object.fromEntries(Object.keys(TOPIC_WAYS).map((way) => [way, receivedByServer(way)])),
  async client(t, options) {
    const server = await startServer(t, { perMessageDeflate: options.perMessageDeflate });
    const receiver = new implementation.WebSocket(urlOf(server), { ...options, ...BORROWED });
    t.teardown(() => receiver.terminate());
    const [[sender]] = await Promise.all([once(server, 'connection'), once(receiver, 'open')]);
    return { receiver, sender };
  },
};
/** The ways whose messages are lent; the others are the program's. */
const LENT = ['port', 'server', 'tls'];

function receivedByServer(way) {
  return async (t, { perMessageDeflate, ...options }) => {
    const server = await TOPIC_WAYS[way](t, { ...BORROWED, ...options, perMessageDeflate });
    const { ws: receiver, client: sender } = await connectTo(t, server, { perMessageDeflate });
    return { receiver, sender };
  };
}

/** Forms of a message: how it is sent. */
const FORMS = {
  bytes: { send: (sender, data) => sender.send(data) },
  text: { send: (sender, data) => sender.send(data, { binary: false }) },
  fragments: { send: sendInParts },
  compressed: { isCompressed: true, send: (sender, data) => sender.send(data) },
  'compressed text in fragments': { isCompressed: true, send: (sender, data) => sendInParts(sender, data, { binary: false }) },
};

function sendInParts(sender, data, options) {
  const third = Math.ceil(data.length / 3);
  for (let part = 0; part < 3; part++) sender.send(data.subarray(part * third, (part + 1) * third), { ...options, fin: part === 2 });
}

/** What handlers do with the message of number `n` after they have kept it. */
const HANDLERS = {
  return: { act: () => {} },
  'are called once in a turn': { options: { allowSynchronousEvents: false }, act: () => {} },
  throw: {
    act(receiver, n) {
      if (n % 7 === 3) throw new Error('from a handler');
    },
  },
  pause: {
    act(receiver, n) {
      if (n % 3 !== 0) return;
      receiver.pause();
      setImmediate(() => receiver.resume());
    },
  },
  close: { ends: true, act: (receiver, n) => n === 2 && receiver.close() },
  terminate: { ends: true, act: (receiver, n) => n === 2 && receiver.terminate() },
};

/** Lengths of messages that come in a small batch, in a large one, and in memory of their own. */
const LENGTHS = [1, 20, 126, 4096, 16 * 1024, 64 * 1024, 200_000, 5];

for (const way of Object.keys(RECEIVERS)) {
  for (const [does, { act, ends = false, options }] of Object.entries(HANDLERS)) {
    ownSerial(`${way}: handlers that ${does}`, async (t) => {
      const thrown = catchUncaught(t);
      for (const [form, { send, isCompressed = false }] of Object.entries(FORMS)) {
        const { receiver, sender } = await RECEIVERS[way](t, { ...options, perMessageDeflate: isCompressed && { threshold: 0 } });
        for (const end of [receiver, sender]) end.on('error', () => {});
        const kept = new Kept();
        const sent = [...LENGTHS, ...LENGTHS].map(payload);
        let changed = 0;
        receiver.on('message', async (data) => {
          const bytes = sent[kept.messages.length];
          await nextTurn();
          changed += data.length !== 0 && !data.equals(bytes);
        });
        receiver.on('message', (data) => {
          const n = kept.messages.length;
          kept.take(data, sent[n]);
          act(receiver, n);
        });
        const closed = once(receiver, 'close');
        for (const bytes of sent) send(sender, bytes);
        if (ends) await closed;
        else await until(() => kept.messages.length === sent.length);
        t.is(kept.wrong, 0, form);
        t.true(kept.messages.length >= 3, form);
        if (LENT.includes(way)) await kept.untilEmpty();
        for (let turn = 0; turn < 5; turn++) await nextTurn();
        t.true(LENT.includes(way) || kept.areIntact, form);
        t.is(changed, 0, form);
        receiver.terminate();
      }
      t.deepEqual([...new Set(thrown.map(({ message }) => message))], does === 'throw' ? ['from a handler'] : []);
    });
  }
}

for (const way of ['port', 'server']) {
  for (const isText of [false, true]) {
    ownOnly(`${way}: ${isText ? 'texts' : 'bytes'} of all lengths`, async (t) => {
      const { ws, client } = await openBy(WAYS[way], t, BORROWED);
      const kept = new Kept();
      const sent = [0, ...SIZES].flatMap((size) => Array.from({ length: 5 }, (_, n) => payload(size, n)));
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

  ownOnly(`${way}: an ArrayBuffer and a Blob are the program's, fragments are not`, async (t) => {
    const { ws, client } = await openBy(WAYS[way], t, BORROWED);
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

  ownOnly(`${way}: a stream of objects has messages in the form of binaryType`, async (t) => {
    const server = await WAYS[way](t, BORROWED);
    for (const type of ['nodebuffer', 'arraybuffer', 'fragments', 'blob']) {
      const { ws, client } = await connect(t, server);
      ws.binaryType = type;
      const stream = implementation.createWebSocketStream(ws, { readableObjectMode: true });
      for (const size of SIZES) client.send(payload(size, size));
      client.close();
      const got = await Promise.all((await stream.toArray()).map((data) => bytesOf[type](data)));
      t.true(Buffer.concat(got).equals(Buffer.concat(SIZES.map((size) => payload(size, size)))), type);
    }
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

ownSerial('what is kept takes no memory', async (t) => {
  const { ws, client } = await openPair(t, BORROWED);
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

ownSerial('another server of the thread: its messages stay what they are', async (t) => {
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

ownOnly('any other value throws', (t) => {
  for (const value of ['lent', '', true, 1, {}]) {
    t.throws(() => new WebSocketServer({ port: 0, messages: value }), { instanceOf: TypeError, message: /^options\.messages must be 'owned' or 'borrowed'\. Received / });
  }
  for (const messages of [undefined, null, 'owned']) t.notThrows(() => new WebSocketServer({ noServer: true, messages }));
});

/** The output of a program, in which LIB stands for the package. */
async function run(program, environment) {
  const lib = fileURLToPath(new URL('../../lib/index.js', import.meta.url));
  const child = spawn(process.execPath, ['-e', program.replace('LIB', JSON.stringify(lib))], { env: { ...process.env, NODE_ENV: environment } });
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) child[name].on('data', (chunk) => (said[name] += chunk));
  await once(child, 'close');
  return said;
}

/**
 * Messages of all lengths, to handlers that keep, throw, pause and await, on a server that counts
 * how often memory is moved.
 */
const COUNTING = `
  const { transfer } = ArrayBuffer.prototype;
  const clone = structuredClone;
  const moves = new Map();
  const count = (buffer) => moves.set(buffer, (moves.get(buffer) ?? 0) + 1);
  if (transfer !== undefined) ArrayBuffer.prototype.transfer = function () { count(this); return transfer.call(this); };
  globalThis.structuredClone = (value, options) => { options?.transfer?.forEach(count); return clone(value, options); };
  process.on('uncaughtException', () => {});
  const { WebSocket, WebSocketServer } = require(LIB);
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', messages: 'borrowed' }, () => {
    const client = new WebSocket('ws://127.0.0.1:' + server.address().port);
    client.on('open', () => {
      for (let n = 0; n < 400; n++) client.send(Buffer.alloc([20, 5000, 16384, 200000][n % 4]), { binary: n % 3 !== 0 });
    });
  });
  const kept = [];
  const memory = new Set();
  const end = () => {
    if (kept.some((data) => data.length !== 0)) return setImmediate(end);
    const times = [...memory].map((buffer) => moves.get(buffer) ?? 0);
    console.log(JSON.stringify({ messages: kept.length, batches: memory.size, most: Math.max(...moves.values(), ...times), least: Math.min(...times) }));
    process.exit();
  };
  server.on('connection', (ws) => ws.on('message', async () => { await null; }).on('message', (data) => {
    memory.add(data.buffer);
    const n = kept.push(data);
    if (n === 400) end();
    if (n % 11 === 0) { ws.pause(); setImmediate(() => ws.resume()); }
    if (n % 7 === 0) throw new Error('from a handler');
  }));`;

ownOnly('memory is taken back exactly once: that of a batch, whatever its handlers do', async (t) => {
  const { stdout, stderr } = await run(COUNTING, 'production');
  const { messages, batches, most, least } = JSON.parse(stdout);
  t.log(`${messages} messages in ${batches} pieces of memory, each moved ${least} to ${most} times`);
  t.deepEqual([messages, least, most, stderr], [400, 1, 1, '']);
});

/** The text on standard error of a program that keeps a message and touches it, or does not. */
function warnings(environment, isTouched) {
  const program = `
    const { WebSocket, WebSocketServer } = require(LIB);
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
  return run(program, environment);
}

ownOnly('in development an empty message says why, once', async (t) => {
  const touched = await warnings('development', true);
  t.is(touched.stdout.trim(), '["",0,true]');
  t.is(touched.stderr.split('REACTOR_WS_BORROWED').length, 2, touched.stderr);
  t.is((await warnings('development', false)).stderr, '');
  t.is((await warnings('production', true)).stderr, '');
});

ownOnly('in development a handler may make its message not extensible', async (t) => {
  const program = `
    const { WebSocket, WebSocketServer } = require(LIB);
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1', messages: 'borrowed' }, () => {
      const client = new WebSocket('ws://127.0.0.1:' + server.address().port);
      let left = 10;
      const ask = () => (left-- === 0 ? process.exit() : client.send('x'));
      client.on('open', ask).on('close', ask).on('message', (data) => process.stdout.write(data, ask));
    });
    server.on('connection', (ws) => ws.on('message', (data) => ws.send(Object.preventExtensions(data))));`;
  t.deepEqual(await run(program, 'development'), { stdout: 'x'.repeat(10), stderr: '' });
});

// Ownership of memory over streams: messages that are not in one chunk, and sent messages.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import tls from 'node:tls';
import { fileURLToPath } from 'node:url';

import { attach, closeOf, isReference, ownOnly, pipe, rawPair, test, tlsPair } from '../helpers/index.mjs';

const { Sender } = createRequire(import.meta.url)('ws');
const RECORD = 16_384;
const turn = () => new Promise(setImmediate);

/** Bytes that differ from message to message and from place to place. */
function bytesOf(number, length) {
  const bytes = Buffer.allocUnsafeSlow(length);
  for (let index = 0; index < length; index++) bytes[index] = (number * 31 + index * 7 + (index >> 8)) & 0xff;
  return bytes;
}

/** A frame; masked unless it is that of a server. */
function frameOf(opcode, payload, { fin = true, mask = true } = {}) {
  return Buffer.concat(Sender.frame(payload, { fin, rsv1: false, opcode, mask, readOnly: true, generateMask: (key) => key.writeUInt32BE(0x01020304) }));
}

/** All received messages, kept as they were handed out: later changes show. */
function keep(ws) {
  const kept = [];
  ws.on('message', (data) => kept.push(data));
  ws.on('ping', (data) => kept.push(data));
  return kept;
}

/** Hands a stream to `socket` in chunks of these sizes, over and over, each in its own memory. */
function pushAll(socket, stream, sizes) {
  for (let at = 0, next = 0; at < stream.length; next++) {
    const size = sizes[next % sizes.length];
    const chunk = Buffer.allocUnsafeSlow(Math.min(size, stream.length - at));
    stream.copy(chunk, 0, at);
    socket.push(chunk);
    at += chunk.length;
  }
}

const SIZES = [[RECORD], [RECORD, 14], [5000], [4096, 1], [100], [1, 5, 9000], [70_000], [16_390], [16_391], [16_392]];

// F01.
for (const sizes of SIZES) {
  test(`messages of all lengths in chunks of ${sizes.join(' and ')} bytes keep their bytes`, async (t) => {
    const lengths = [0, 1, 20, 125, 126, 4096, RECORD - 9, RECORD - 8, RECORD - 1, RECORD, RECORD + 1, 40_000, 70_000, 3];
    const messages = [...lengths, ...lengths].map((length, number) => bytesOf(number, length));
    const { ws, near } = rawPair();
    const kept = keep(ws);
    pushAll(near, Buffer.concat(messages.map((message) => frameOf(2, message))), sizes);
    while (kept.length < messages.length) await turn();
    for (const [number, message] of messages.entries()) t.true(kept[number].equals(message), `message ${number}`);
  });
}

// F01, F06.
test('what was given out of a chunk is not touched by the message that begins after it', async (t) => {
  for (const small of [0, 1, 2, 8]) {
    for (let cut = 1; cut < 20; cut++) {
      const { ws, near } = rawPair();
      const kept = keep(ws);
      const [before, ping, long, after] = [bytesOf(1, small), bytesOf(2, 3), bytesOf(3, 200), bytesOf(4, 50)];
      const parts = [
        frameOf(2, before),
        frameOf(2, long.subarray(0, 100), { fin: false }),
        frameOf(9, ping),
        frameOf(0, long.subarray(100)),
        frameOf(2, after),
      ];
      const stream = Buffer.concat(parts);
      pushAll(near, stream, [stream.length - cut, cut]);
      while (kept.length < 4) await turn();
      t.deepEqual(kept.map((data) => data.toString('hex')), [before, ping, long, after].map((data) => data.toString('hex')));
    }
  }
});

test('a client leaves the bytes of a chunk alone', async (t) => {
  const [near] = pipe();
  const ws = attach(near, { isServer: false });
  const kept = keep(ws);
  const message = bytesOf(1, RECORD);
  const stream = frameOf(2, message, { mask: false });
  const chunks = [stream.subarray(0, RECORD), stream.subarray(RECORD)];
  const before = chunks.map((chunk) => chunk.toString('hex'));
  for (const chunk of chunks) near.push(chunk);
  while (kept.length < 1) await turn();
  t.true(kept[0].equals(message));
  t.deepEqual(chunks.map((chunk) => chunk.toString('hex')), before);
});

// In ws the other stream's messages come at once.
ownOnly('a handler that makes another stream deliver finds the rest of its own', async (t) => {
  const [outer, inner] = [rawPair(), rawPair()];
  const seen = [];
  let number = 0;
  inner.ws.on('message', (data) => seen.push(`inner ${data}`));
  outer.ws.on('message', (data) => {
    seen.push(`outer ${data}`);
    const frames = [frameOf(1, Buffer.from(`${number++}`)), frameOf(1, Buffer.from('x'))];
    inner.near.emit('data', Buffer.concat(frames));
  });
  const frames = ['a', 'b', 'c'].map((text) => frameOf(1, Buffer.from(text)));
  outer.near.emit('data', Buffer.concat(frames));
  await turn();
  const outers = ['outer a', 'outer b', 'outer c'];
  t.deepEqual(seen, [...outers, 'inner 0', 'inner x', 'inner 1', 'inner x', 'inner 2', 'inner x']);
});

test.serial('TLS: a Buffer that is sent many times to who does not read is copied once', async (t) => {
  const { ws, client, far } = await tlsPair(t);
  far.pause();
  const [count, data] = [60, Buffer.alloc(1 << 20, 1)];
  const before = process.memoryUsage().arrayBuffers;
  for (let number = 0; number < count; number++) {
    ws.send(data);
    if (number % 10 === 0) await turn();
  }
  const grown = process.memoryUsage().arrayBuffers - before;
  t.true(grown < 20 << 20, `${grown >> 20} MiB for ${ws.bufferedAmount >> 20}`);
  let received = 0;
  const done = new Promise((resolve) => {
    client.on('message', (message) => {
      if (!message.equals(data)) t.fail(`message ${received}`);
      if (++received === count) resolve();
    });
  });
  far.resume();
  await done;
  ws.terminate();
  await closeOf(ws);
});

ownOnly('TLS: what is sent is copied before send() returns, and what waits is not written over', async (t) => {
  const { ws, client, far } = await tlsPair(t);
  const COUNT = 300;
  far.pause();
  const data = Buffer.alloc(RECORD);
  const sent = [];
  for (let number = 0; number < COUNT; number++) {
    const message = bytesOf(number, 2000 + 97 * number);
    data.set(message.subarray(0, RECORD));
    const part = data.subarray(0, Math.min(message.length, RECORD));
    sent.push(Buffer.from(part));
    ws.send(number % 3 === 0 ? part.toString('latin1') : part);
    data.fill(0xee);
    if (number % 50 === 49) await turn();
  }
  t.true(ws.bufferedAmount > 0);
  const received = [];
  const done = new Promise((resolve) => {
    client.on('message', (message) => received.push(message) === COUNT && resolve());
  });
  far.resume();
  await done;
  for (const [number, message] of received.entries()) {
    const text = number % 3 === 0 ? Buffer.from(message.toString(), 'latin1') : message;
    t.true(text.equals(sent[number]), `message ${number}`);
  }
});

test('a process waits for the peer of a stream that is closing, though nothing else keeps it alive', async (t) => {
  const from = isReference ? 'ws' : fileURLToPath(new URL('../../lib/index.js', import.meta.url));
  const child = spawn(process.execPath, [
    '-e',
    `const { Duplex } = require('node:stream');
    const { WebSocketServer } = require(${JSON.stringify(from)});
    const socket = new Duplex({ read() {}, write: (chunk, encoding, callback) => callback() });
    const headers = {
      upgrade: 'websocket', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', 'sec-websocket-version': '13',
    };
    const server = new WebSocketServer({ noServer: true, closeTimeout: 100 });
    server.handleUpgrade({ method: 'GET', url: '/', headers, socket }, socket, Buffer.alloc(0), (ws) => {
      ws.on('close', (code) => console.log('closed with', code));
      ws.close();
    });`,
  ]);
  let output = '';
  child.stdout.on('data', (data) => (output += data));
  await once(child, 'close');
  t.is(output, 'closed with 1006\n');
});

/** Puts a method before a stream's own `write()`: of the object, or as a tracer does of its class. */
const RECORDERS = {
  'of the stream': (near, record) => {
    const { write } = near;
    near.write = record(write);
    return () => {};
  },
  'of its class': (near, record) => {
    tls.TLSSocket.prototype.write = record(tls.TLSSocket.prototype.write);
    return () => delete tls.TLSSocket.prototype.write;
  },
};

for (const [name, install] of Object.entries(RECORDERS)) {
  test.serial(`TLS: chunks that a method ${name} has kept stay as they were written`, async (t) => {
    const { ws, client, near } = await tlsPair(t);
    const kept = [];
    const remove = install(
      near,
      (write) =>
        function (chunk, ...rest) {
          if (this === near) kept.push({ chunk, copy: Buffer.from(chunk) });
          return Reflect.apply(write, this, [chunk, ...rest]);
        },
    );
    t.teardown(remove);
    for (let number = 0; number < 200; number++) {
      const arriving = once(client, 'message');
      ws.send(bytesOf(number, 2000));
      await arriving;
    }
    t.true(kept.length >= 200);
    for (const { chunk, copy } of kept) t.true(chunk.equals(copy));
  });
}

ownOnly('TLS: peers that reset while they are written to do not keep the memory of the writes', async (t) => {
  const { isScarce } = createRequire(import.meta.url)('../../lib/reactor/stream-ops.js');
  for (let number = 0; number < 40; number++) {
    const { ws, far } = await tlsPair(t);
    far.pause();
    far.on('error', () => {});
    ws.on('error', () => {});
    const failed = new Promise((resolve) => {
      for (let count = 0; count < 100; count++) ws.send(Buffer.alloc(60_000), (error) => error && resolve());
    });
    // With bytes that were not read: the system resets the connection.
    far.destroy();
    await Promise.all([failed, closeOf(ws)]);
  }
  t.false(isScarce());
});

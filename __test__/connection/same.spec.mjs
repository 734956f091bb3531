// J09, J10, R03: the same data to many connections, which goes to the reactor once: each connection gets the data
// as it was at the time of its own send.
import { once } from 'node:events';
import net from 'node:net';

import { Child, MEASURED } from '../helpers/child.mjs';
import { connect, connectMany, nextEvents, openPair } from '../helpers/clients.mjs';
import { isWrittenAtOnce, isReference, isSpread, ownOnly, randomNumbers, startServer, test, upgradeRequest } from '../helpers/index.mjs';

const CONNECTIONS = 5;
const ALONE = { serverNoContextTakeover: true, clientNoContextTakeover: true };
const MODES = {
  'without compression': [false, false],
  'each message by itself': [ALONE, true],
  'context takeover': [true, true],
};

/** Lengths around which a header, the loop over characters, or the comparison changes, and large ones. */
const LENGTHS = [0, 1, 4, 10, 11, 125, 126, 1023, 2047, 2048, 2049, 5000, 16383, 16384, 65535, 65536, 70_000, 300_000];

function bytesOf(data) {
  if (typeof data === 'string') return Buffer.from(data);
  if (data instanceof ArrayBuffer || data instanceof SharedArrayBuffer) return Buffer.from(Buffer.from(data));
  return Buffer.from(Buffer.from(data.buffer, data.byteOffset, data.byteLength));
}

/** Something to send of about `length` bytes. */
function make(pick, length) {
  const bytes = Buffer.alloc(length, `${pick(1e6)} `);
  switch (pick(9)) {
    case 0:
      return bytes.toString();
    case 1:
      return 'ä€𝄞\ud800'.repeat(length / 10);
    case 2:
      // In several pieces.
      return `${bytes.toString('latin1', 0, length / 2)}${pick(1e6)}${'z'.repeat(length / 3)}`;
    case 3:
      return new Uint8Array(bytes);
    case 4:
      return new Uint8Array(bytes).buffer;
    case 5:
      return new DataView(new ArrayBuffer(length + 8), 3, length);
    case 6:
      return Buffer.from(new SharedArrayBuffer(length)).fill(pick(128));
    case 7:
      return isReference ? bytes : Object.defineProperty(bytes, 'length', { value: 3 });
    default:
      return bytes;
  }
}

/** Changes the data where it can be changed; ws refers to it until it is sent. */
function change(pick, data) {
  if (typeof data === 'string' || isReference) return;
  const bytes = Buffer.from(data.buffer ?? data, data.byteOffset ?? 0, data.byteLength);
  if (bytes.length > 0) bytes[pick(2) === 0 ? bytes.length - 1 : pick(bytes.length)] = pick(128);
}

/** The messages to the connections, and those that they must get. */
class Program {
  #pick;
  #callbacks = [];
  #terminated = null;
  sockets;
  expected;

  constructor(seed, sockets) {
    this.#pick = randomNumbers(seed);
    this.sockets = sockets;
    this.expected = sockets.map(() => []);
  }

  /** One turn: as many sends as fill some arenas. */
  turn() {
    for (let step = 0; step < 12; step++) {
      const data = make(this.#pick, LENGTHS[this.#pick(LENGTHS.length)]);
      const times = 1 + this.#pick(3);
      for (let time = 0; time < times; time++) {
        if (this.#pick(3) === 0) change(this.#pick, data);
        const options = [undefined, { binary: false }, { binary: true }, { compress: false }][this.#pick(4)];
        this.#toAll(data, options);
      }
    }
  }

  #toAll(data, options) {
    const one = this.#pick(8);
    for (const [n, ws] of this.sockets.entries()) {
      if (one === 0 && n === 2) change(this.#pick, data);
      if (one === 1 && n === 3) ws.ping('between');
      if (one === 2 && n === 1) this.#send(n, 'between', undefined);
      if (one === 3 && n === 2) this.#send(n, data, options);
      this.#send(n, data, options);
    }
  }

  #send(n, data, options) {
    const ws = this.sockets[n];
    if (ws !== this.#terminated) this.expected[n].push([bytesOf(data), options?.binary ?? typeof data !== 'string']);
    if (this.#pick(4) > 0) {
      ws.send(data, options);
      return;
    }
    const index = this.#callbacks.push(0) - 1;
    ws.send(data, options, () => {
      this.#callbacks[index]++;
    });
  }

  /** In the middle of a turn: messages to this connection may be lost. */
  terminate(n) {
    this.#terminated = this.sockets[n];
    this.expected[n] = null;
    this.#terminated.terminate();
  }

  checkCallbacks(t) {
    t.true(this.#callbacks.length > 0);
    t.true(this.#callbacks.every((calls) => calls === 1));
  }
}

/** Whether they are the expected ones, without a comparison that prints megabytes. */
function checkMessages(t, got, expected) {
  t.is(got.length, expected.length);
  const wrong = expected.findIndex(([bytes, isBinary], i) => got[i][1] !== isBinary || !bytes.equals(got[i][0]));
  t.is(wrong, -1, `${got[wrong]?.[0].length} bytes instead of ${expected[wrong]?.[0].length}`);
}

for (const [name, [perMessageDeflate, client]] of Object.entries(MODES)) {
  test(`${name}: whatever is sent to many is what it was then`, async (t) => {
    const server = await startServer(t, { perMessageDeflate });
    for (let seed = 1; seed <= 6; seed++) {
      const pairs = await connectMany(t, server, CONNECTIONS, { perMessageDeflate: client });
      const program = new Program(seed, pairs.map(({ ws }) => ws));
      const got = pairs.map(({ client: end }) => {
        const messages = [];
        end.on('message', (data, isBinary) => messages.push([data, isBinary]));
        return messages;
      });
      program.turn();
      if (seed % 2 === 0) {
        program.terminate(1);
        program.turn();
      }
      const ends = pairs.map(({ client: end }) => once(end, 'close'));
      for (const ws of program.sockets) ws.close();
      await Promise.all(ends);
      for (const [n, expected] of program.expected.entries()) {
        if (expected !== null) checkMessages(t, got[n], expected);
      }
      if (seed % 2 !== 0) program.checkCallbacks(t);
    }
  });
}

test('an arena that ends between two sends of the same data', async (t) => {
  const server = await startServer(t);
  const pairs = [await connect(t, server), await connect(t, server)];
  const data = Buffer.alloc(3000, 'data');
  const text = 'more than ten characters';
  // More records than an arena has room for, and every fill of it before the last one.
  const rounds = 7000;
  const got = pairs.map(({ client }) => nextEvents(client, 'message', 3 * rounds));
  for (let round = 0; round < rounds; round++) {
    for (const { ws } of pairs) ws.send(data);
    for (const { ws } of pairs) ws.send(text);
    for (const { ws } of pairs) ws.send(String(round));
  }
  for (const messages of await Promise.all(got)) {
    const right = messages.every(([message, isBinary], index) => {
      const [round, kind] = [Math.floor(index / 3), index % 3];
      return kind === 0 ? isBinary && message.equals(data) : message.toString() === [text, String(round)][kind - 1];
    });
    t.true(right);
  }
});

ownOnly('bytes that have become those of a text between them', async (t) => {
  const server = await startServer(t);
  const pairs = await connectMany(t, server, 3);
  const [first, second, third] = pairs.map(({ ws }) => ws);
  for (const length of [5000, 16_384, 65_536, 100_000]) {
    const got = pairs.map(({ client }) => once(client, 'message'));
    const data = Buffer.alloc(length, 'x');
    first.send(data);
    second.send('y'.repeat(length));
    data.fill('y');
    third.send(data);
    for (const [n, [message]] of (await Promise.all(got)).entries()) {
      t.true(message.equals(Buffer.alloc(length, 'xyy'[n])), `${length} bytes to connection ${n}`);
    }
  }
});

ownOnly('bytes that wait behind a Blob, and change: they arrive as they were', async (t) => {
  const { ws, client } = await openPair(t);
  const got = nextEvents(client, 'message', 3);
  const data = new Uint8Array(5000).fill(120);
  ws.send(new Blob(['first']));
  for (const one of [data, data.buffer]) ws.send(one);
  data.fill(121);
  for (const [message] of (await got).slice(1)) t.true(message.equals(Buffer.alloc(5000, 'x')));
});

ownOnly('memory that is detached, resized or sent as other views between two sends', async (t) => {
  const server = await startServer(t);
  const pairs = [await connect(t, server), await connect(t, server)];
  const got = pairs.map(({ client }) => nextEvents(client, 'message', 4));
  const sizes = [3000, 100_000];
  for (const size of sizes) {
    const memory = new Uint8Array(size).fill(1);
    for (const { ws } of pairs) ws.send(memory);
    pairs[0].ws.send(memory.subarray(1));
    pairs[1].ws.send(memory.buffer);
    structuredClone(memory.buffer, { transfer: [memory.buffer] });
    for (const { ws } of pairs) t.throws(() => ws.send(memory), { instanceOf: TypeError });
  }
  for (const [n, messages] of (await Promise.all(got)).entries()) {
    const lengths = messages.map(([message]) => message.length);
    t.deepEqual(lengths, sizes.flatMap((size) => [size, n === 0 ? size - 1 : size]));
    t.true(messages.every(([message]) => message.every((byte) => byte === 1)));
  }
  const resizable = new ArrayBuffer(4096, { maxByteLength: 8192 });
  if (!resizable.resizable) return;
  const tracking = new Uint8Array(resizable).fill(2);
  const resized = pairs.map(({ client }) => nextEvents(client, 'message', 3));
  for (const length of [4096, 8192, 2048]) {
    resizable.resize(length);
    tracking.fill(2);
    for (const { ws } of pairs) ws.send(tracking);
  }
  for (const messages of await Promise.all(resized)) {
    t.deepEqual(messages.map(([message]) => message.length), [4096, 8192, 2048]);
    t.true(messages.every(([message]) => message.every((byte) => byte === 2)));
  }
});

test('connections that do not read get all of it later, and count it until then', async (t) => {
  const server = await startServer(t);
  const readers = [];
  for (let n = 0; n < 3; n++) {
    const { ws, client } = await connect(t, server, { perMessageDeflate: false });
    if (n < 2) client.pause();
    readers.push({ ws, client });
  }
  const sends = [];
  let sent = 0;
  for (let round = 0; sent < 48 << 20; round++) {
    const data = Buffer.alloc([16_384, 2500, 1 << 20, 65_536][round % 4], round);
    sends.push(data);
    for (const { ws } of readers) ws.send(data);
    sent += data.length + (data.length < 65_536 ? 4 : 10);
    t.true(readers.every(({ ws }) => ws.bufferedAmount <= sent));
  }
  const [first, second] = readers;
  t.true(first.ws.bufferedAmount > 8 << 20 && second.ws.bufferedAmount > 8 << 20);
  const all = readers.map(({ client }) => nextEvents(client, 'message', sends.length));
  const done = readers.map(({ ws }) => new Promise((resolve) => ws.send('last', resolve)));
  for (const { client } of readers) client.resume();
  for (const messages of await Promise.all(all)) {
    t.true(messages.every(([message, isBinary], n) => isBinary && sends[n].equals(message)));
  }
  await Promise.all(done);
  t.true(readers.every(({ ws }) => ws.bufferedAmount === 0));
});

test('fragments of the same data are fragments', async (t) => {
  const { ws, client, server } = await openPair(t);
  const other = await connect(t, server);
  for (const length of [3000, 100_000]) {
    const part = Buffer.alloc(length, 'part');
    const messages = [once(client, 'message'), once(other.client, 'message')];
    for (const end of [ws, other.ws]) end.send(part, { fin: false });
    for (const end of [ws, other.ws]) end.send(part, { fin: false });
    for (const end of [ws, other.ws]) end.send(part);
    for (const [message] of await Promise.all(messages)) t.true(message.equals(Buffer.concat([part, part, part])));
  }
});

test('options of a send are not those of another one of the same data', async (t) => {
  const server = await startServer(t, { perMessageDeflate: true });
  const [one, other] = [await connect(t, server, { perMessageDeflate: true }), await connect(t, server, { perMessageDeflate: true })];
  const text = 'text'.repeat(2000);
  for (const options of [{ fin: false, compress: false }, { compress: true }]) {
    const before = other.client._socket.bytesRead;
    const messages = [one, other].map(({ client }) => once(client, 'message'));
    one.ws.send(text, options);
    other.ws.send(text, { compress: false });
    if (options.fin === false) one.ws.send('');
    for (const [data, isBinary] of await Promise.all(messages)) t.true(String(data) === text && !isBinary);
    t.true(other.client._socket.bytesRead - before > text.length);
  }
});

const MIB = 2 ** 20;
const UNREAD = 40;
const REACTORS = isSpread ? Number(process.env.REACTOR_WS_REACTORS) : 1;

// A payload that is written from where it is goes there with each send by itself.
const sharedOnly = isReference || isWrittenAtOnce ? test.skip : test;

sharedOnly('what connections that do not read are sent is kept once', async (t) => {
  const child = new Child(t, 'broadcasting.mjs', [], MEASURED);
  const port = Number(await child.line(0));
  for (let n = 0; n < UNREAD; n++) {
    const socket = net.connect({ port, host: '127.0.0.1' });
    t.teardown(() => socket.destroy());
    socket.write(upgradeRequest());
    await once(socket, 'data');
    socket.pause();
  }
  // The first message of each length fills the buffers of the kernel.
  for (const [line, [length, count]] of [[MIB, 8], [MIB, 16], [16_384, 1024]].entries()) {
    child.process.stdin.write(`${length} ${count}\n`);
    const { grown, waiting, connections } = JSON.parse(await child.line(line + 1));
    t.log(`${length} B: ${grown / MIB} MiB, ${waiting / MIB} wait for each`);
    t.is(connections, UNREAD);
    if (line === 0) continue;
    // Bytes that waited before may have gone to the kernel meanwhile.
    t.true(waiting >= (length * count) / 2, `${waiting / MIB} MiB`);
    // Once for each reactor, and twice for those connections that had it first there.
    t.true(grown < 6 * REACTORS * length * count, `${grown / MIB} MiB`);
  }
});

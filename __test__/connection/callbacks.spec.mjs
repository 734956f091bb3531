// J08, R01. Every callback of a send is called once, whatever happens to the connection. Random programs of
// sends, pauses and ends. SEED=7 PROGRAMS=1 runs one of them, WS_IMPL=ws the same ones on ws.
import { once } from 'node:events';
import net from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import tls from 'node:tls';

import { frame, openRaw } from '../helpers/clients.mjs';
import { TOPIC_WAYS, cert, isInline, isReference, openPair, randomNumbers, rawPair, test, upgradeRequest } from '../helpers/index.mjs';

const SEED = Number(process.env.SEED ?? 1);
const PROGRAMS = Number(process.env.PROGRAMS ?? 100);
const AT_ONCE = 10;
const STEPS = 14;
const TEXT = 'some text, some text';
const MEDIUM = Buffer.alloc(2_000, 'medium');
const LARGE = Buffer.alloc(70_000, 'large');

/** A peer that reads everything and keeps nothing. */
function connectPeer(t, port, isSecure) {
  const options = { port, host: '127.0.0.1', allowHalfOpen: true };
  const socket = isSecure ? tls.connect({ ...options, ca: cert, servername: 'localhost' }) : net.connect(options);
  socket.on('error', () => {}).resume();
  t.teardown(() => socket.destroy());
  socket.write(upgradeRequest({ 'Sec-WebSocket-Extensions': 'permessage-deflate' }));
  return socket;
}

/** A Blob that is read, or fails to be read, when `settle` is called. */
function slowBlob(random, blobs) {
  const blob = new Blob([TEXT]);
  const reading = Promise.withResolvers?.() ?? deferred();
  blob.arrayBuffer = () => reading.promise;
  reading.promise.catch(() => {});
  const bytes = new TextEncoder().encode(TEXT).buffer;
  blobs.push(random(8) === 0 ? () => reading.reject(new Error('unreadable')) : () => reading.resolve(bytes));
  return blob;
}

function deferred() {
  const parts = {};
  parts.promise = new Promise((resolve, reject) => Object.assign(parts, { resolve, reject }));
  return parts;
}

/** One connection and its counts. */
class Program {
  /** The number of calls of each callback. */
  calls = [];
  closes = 0;
  /** Bytes that were sent when the connection was no longer open: no end takes them. */
  lateBytes = 0;
  blobs = [];

  constructor(seed, ws, peer) {
    this.random = randomNumbers(seed);
    this.ws = ws;
    this.peer = peer;
    ws.on('close', () => this.closes++);
    for (const event of ['message', 'ping', 'pong', 'error', 'close']) {
      ws.on(event, () => this.random(3) === 0 && this.act());
    }
  }

  /** One action of a handler. */
  act() {
    const what = this.random(12);
    if (what === 0) this.ws.pause();
    else if (what === 1) this.ws.close(1000);
    else if (what === 2) this.ws.terminate();
    else if (what === 3) this.ws.resume();
    else this.send();
  }

  send() {
    const { random, ws } = this;
    const callback = random(4) === 0 ? undefined : this.callback();
    const kind = random(11);
    const datum = [TEXT, Buffer.from(TEXT), MEDIUM, LARGE, LARGE.toString(), new Blob([TEXT]), new Uint16Array(3).buffer][kind];
    // In ws a Blob that cannot be read leaves callbacks behind.
    const data = datum ?? (kind === 7 ? slowBlob(random, this.blobs) : TEXT);
    if (ws.readyState >= ws.CLOSING) this.lateBytes += sizeOf(data);
    if (kind === 8) ws.ping(data, undefined, callback);
    else if (kind === 10) ws.send(data, { compress: random(2) === 0, binary: random(2) === 0 }, callback);
    else ws.send(data, callback);
  }

  callback() {
    const number = this.calls.push(0) - 1;
    return () => {
      this.calls[number]++;
      if (this.calls.length < 200 && this.random(3) === 0) this.act();
    };
  }

  async run() {
    for (let step = 0; step < STEPS; step++) {
      const what = this.random(24);
      if (what < 10) this.send();
      else if (what < 14) this.hear();
      else if (what === 14) this.ws.pause();
      else if (what === 15) this.ws.resume();
      else if (what === 16) this.settle();
      else if (what === 17) this.end();
      else if (what === 18) this.surprise();
      else if (this.random(3) === 0) await new Promise((resolve) => setTimeout(resolve, this.random(8)));
      else await turn();
    }
  }

  /** The peer sends a message. */
  hear() {
    const said = [frame(1, 'text'), frame(9, 'ping'), frame(2, LARGE.subarray(0, 100))];
    for (let count = 1 + this.random(4); count > 0; count--) this.peer.write(said[this.random(said.length)]);
  }

  /** The peer's message is on its way, and the connection is paused when it arrives. */
  surprise() {
    this.hear();
    const until = performance.now() + 3;
    while (performance.now() < until);
    this.ws.pause();
    if (this.random(2) === 0) this.end();
  }

  end() {
    const what = this.random(7);
    if (what === 0) this.ws.close(1000, 'done');
    else if (what === 1) this.ws.terminate();
    else if (what === 2) this.peer.end();
    else if (what === 3) this.peer.write(frame(8, Buffer.from([3, 232])));
    else if (what === 4) this.peer.write(frame(3, 'no such opcode'));
    else if (what === 5) this.peer.destroy();
    // Behind end(), Node does not exit after a reset.
    else if (this.peer.encrypted || this.peer.writableEnded) this.peer.destroy();
    else this.peer.resetAndDestroy();
  }

  settle() {
    for (const settle of this.blobs.splice(0)) settle();
  }

  /** The connection ends, in one way or another, and all owed callbacks have been called. */
  async finish() {
    const { ws } = this;
    if (this.random(2) === 0) this.settle();
    ws.resume();
    this.peer.destroy();
    // A handler may pause the connection again.
    while (this.closes === 0) {
      ws.resume();
      await turn();
    }
    while (this.blobs.length > 0 || this.calls.includes(0)) {
      this.settle();
      if (performance.now() > this.deadline) break;
      await turn();
    }
    // Callbacks that were called twice.
    for (let turns = 0; turns < 3; turns++) await turn();
  }
}

function sizeOf(data) {
  return data.size ?? Buffer.byteLength(data);
}

for (const way of Object.keys(TOPIC_WAYS)) {
  for (const perMessageDeflate of [false, { threshold: 0 }]) {
    const name = `${way}${perMessageDeflate ? ', compressed' : ''}: every callback is called once, whatever happens`;
    test(name, async (t) => {
      const wss = await TOPIC_WAYS[way](t, { perMessageDeflate, closeTimeout: 1000 });
      wss.setMaxListeners(0);
      const { port } = wss.address();
      const run = async (seed) => {
        const peer = connectPeer(t, port, way === 'https' || way === 'tls');
        const ws = await nextConnection(wss, peer);
        const program = new Program(seed, ws, peer);
        await program.run();
        program.deadline = performance.now() + 10_000;
        await program.finish();
        const again = `SEED=${seed} PROGRAMS=1`;
        t.deepEqual(program.calls.filter((calls) => calls !== 1), [], again);
        t.is(program.closes, 1, again);
        t.is(ws.readyState, ws.CLOSED, again);
        // ws still counts the bytes of a Blob that was not sent.
        if (!isReference) t.is(ws.bufferedAmount, program.lateBytes, again);
      };
      for (let first = SEED; first < SEED + PROGRAMS; first += AT_ONCE) {
        const seeds = Array.from({ length: Math.min(AT_ONCE, SEED + PROGRAMS - first) }, (_, index) => first + index);
        await Promise.all(seeds.map(run));
      }
    });
  }
}

/** The connection of a peer: of those that come at once, the one with the peer's port. */
function nextConnection(wss, peer) {
  return new Promise((resolve) => {
    const listener = (ws, request) => {
      if (request.socket.remotePort !== peer.localPort) return;
      wss.removeListener('connection', listener);
      resolve(ws);
    };
    wss.on('connection', listener);
  });
}

// Held messages of a paused connection are delivered after its end: the handlers send to a
// connection that is gone. ws holds no messages, and without a thread only bytes are read that are
// delivered.
(isInline || isReference ? test.skip : test)('a Blob is read when the connection has been reset, and what is held is delivered later', async (t) => {
  const { ws, raw } = await openRaw(t);
  const log = [];
  const note = (name) => (error) => log.push(`${name}: ${error?.code ?? error?.message}`);
  const reading = deferred();
  const blob = Object.assign(new Blob([TEXT]), { arrayBuffer: () => reading.promise });
  const closed = once(ws, 'close');
  const isLate = new Promise((resolve) => {
    ws.once('message', () => {
      ws.send('late', note('late'));
      ws.send(new Blob(['late']), note('late Blob'));
      resolve();
    });
  });
  const { _socket: socket } = ws;
  const read = socket.bytesRead;
  await raw.send(frame(1, 'held'));
  // The message is read meanwhile, whenever the reactor has a processor, and not delivered.
  while (socket.bytesRead === read);
  ws.pause();
  ws.send(blob, note('Blob'));
  ws.send('behind', note('behind'));
  ws.ping('behind', undefined, note('ping'));
  raw.reset();
  while (!ws._socket?.destroyed) await turn();
  reading.resolve(new ArrayBuffer(TEXT.length));
  while (log.length < 3) await turn();
  ws.resume();
  await isLate;
  await closed;
  while (log.length < 5) await turn();
  const wasClosed = 'The socket was closed while the blob was being read';
  t.deepEqual(log.slice(0, 3), [`Blob: ${wasClosed}`, `behind: ${wasClosed}`, `ping: ${wasClosed}`]);
  t.deepEqual(log.slice(3).sort(), ['late Blob: ERR_STREAM_DESTROYED', 'late: ERR_STREAM_DESTROYED']);
  t.is(ws.bufferedAmount, 0);
});

test('a callback that is no function is refused, and nothing is sent', async (t) => {
  for (const { ws } of [await openPair(t), rawPair()]) {
    for (const method of ['send', 'ping', 'pong']) t.throws(() => ws[method]('a', undefined, 'text'), { instanceOf: TypeError });
    if (!isReference) t.is(ws.bufferedAmount, 0);
    t.notThrows(() => ws.send('a', {}, null));
  }
});

// Every way to write, times every length on both sides of a threshold, times every way in: the
// bytes that the peer gets, those after them, the callbacks, and the bytes that are left to be
// sent.
import { once } from 'node:events';
import { createRequire } from 'node:module';

import { COMPRESSION, WAYS_IN, World, named, payloadOf, untilSent } from '../helpers/bytes-world.mjs';
import { implementation, isInline, isReference, isSpread, test } from '../helpers/index.mjs';
import { AT_ONCE, COMPRESSED, FEW_SIZES, KNOWN, SIZES, constants } from '../helpers/thresholds.mjs';

const { Sender, createWebSocketStream } = implementation;

const [TEXT, BINARY, CLOSE, PING, PONG] = [1, 2, 8, 9, 10];
/** A Duplex has no reactor either. */
const WAYS = isInline || isSpread ? WAYS_IN : [...WAYS_IN, 'stream'];
const CONTROL_BYTES = 125;
const REASON_BYTES = 123;
/** Peers of each server: messages to many take other paths than those to one. */
const PEERS = 3;

const require = createRequire(import.meta.url);
const { bytesSettled } = isReference ? {} : require('../../lib/reactor/exchange.js');

/** Nothing waits, and both threads have counted the same: later messages are counted right. */
async function testCounts(t, sockets) {
  await untilSent(...sockets);
  for (const ws of isReference ? [] : sockets) {
    if ((ws._extra?.stream ?? null) === null) t.is(bytesSettled(ws), ws._accepted);
  }
}

const frameOf = (payload) => Sender.frame(payload, { fin: true, rsv1: false, opcode: BINARY, mask: false, readOnly: true });

/**
 * Ways to send a payload: opcode, and `(ws, payload, callback, shared)`, where `shared` is the same
 * object for all recipients; then whether the way is for all, the largest length, and the lengths
 * that are sent one by one.
 */
const WRITES = {
  'send() of a string': [TEXT, (ws, payload, done) => ws.send(payload.toString('latin1'), done)],
  'send() of a Buffer': [BINARY, (ws, payload, done) => ws.send(payload, done)],
  'send() of an ArrayBuffer': [BINARY, (ws, payload, done) => ws.send(new Uint8Array(payload).buffer, done)],
  'send() of a Blob': [BINARY, (ws, payload, done) => ws.send(new Blob([payload]), done)],
  'send() with compress: false': [TEXT, (ws, payload, done) => ws.send(payload, { binary: false, compress: false }, done)],
  'send() of three fragments': [BINARY, sendFragments],
  'the same string to all': [TEXT, (ws, payload, done, shared) => ws.send(shared.text, done), true],
  'the same Buffer to all': [BINARY, (ws, payload, done) => ws.send(payload, done), true],
  'broadcast()': [BINARY, broadcast, true, Infinity, FEW_SIZES],
  'publish()': [BINARY, publish, true, Infinity, FEW_SIZES],
  'Sender.frame() and sendFrame()': [BINARY, (ws, payload, done) => ws._sender.sendFrame(frameOf(payload), done)],
  'the same frame to all': [BINARY, (ws, payload, done, shared) => ws._sender.sendFrame(shared.frame, done), true],
  '_socket.write()': [BINARY, (ws, payload, done) => ws._socket.write(Buffer.concat(frameOf(payload)), done)],
  createWebSocketStream: [BINARY, writeStream],
  'ping()': [PING, (ws, payload, done) => ws.ping(payload, undefined, done), false, CONTROL_BYTES],
  'pong()': [PONG, (ws, payload, done) => ws.pong(payload, undefined, done), false, CONTROL_BYTES],
};
if (isReference) for (const name of ['broadcast()', 'publish()']) delete WRITES[name];

/** The call for the first recipient sends to all; there is no callback. */
function broadcast(ws, payload, done, shared) {
  shared.once(() => ws._owner.broadcast(payload));
  done();
}

function publish(ws, payload, done, shared) {
  shared.once(() => {
    for (const one of ws._owner.clients) one.subscribe('all');
    ws._owner.publish('all', payload);
  });
  done();
}

function sendFragments(ws, payload, done) {
  const third = Math.ceil(payload.length / 3);
  ws.send(payload.subarray(0, third), { fin: false });
  ws.send(payload.subarray(third, 2 * third), { fin: false });
  ws.send(payload.subarray(2 * third), done);
}

const streams = new WeakMap();

function writeStream(ws, payload, done) {
  if (!streams.has(ws)) streams.set(ws, createWebSocketStream(ws));
  streams.get(ws).write(payload, done);
}

/** The message to all, made when it is requested. */
class Shared {
  #made = {};

  constructor(payload) {
    this.payload = payload;
  }

  once(act) {
    if (!this.#made.isDone) act();
    this.#made.isDone = true;
  }

  get text() {
    return (this.#made.text ??= this.payload.toString('latin1'));
  }

  get frame() {
    return (this.#made.frame ??= frameOf(this.payload));
  }
}

/** Starts to send to one or all pairs; resolves with them after callbacks without an error. */
function send(t, pairs, [, write, toAll = false], payload) {
  const receivers = toAll ? pairs : [pairs[payload.length % PEERS]];
  const shared = new Shared(payload);
  const called = receivers.map(({ ws }) => {
    return new Promise((resolve) => write(ws, payload, (error) => resolve(t.falsy(error)), shared));
  });
  return { receivers, called: Promise.all(called) };
}

/** The peer gets exactly these bytes. */
async function expect(t, { messages }, opcode, payload, title) {
  const got = await named(title, messages.next());
  if (got.opcode === opcode && got.payload.equals(payload)) return;
  t.fail(`${title}: ${got.payload.length} bytes of opcode ${got.opcode} instead of ${payload.length} of ${opcode}`);
}

async function testLengths(t, pairs, name, sizes) {
  const way = WRITES[name];
  const [opcode, , , longest = Infinity, among = sizes] = way;
  for (const size of among.filter((length) => length <= longest && sizes.includes(length))) {
    const payload = payloadOf(size, size);
    const { receivers, called } = send(t, pairs, way, payload);
    const behind = Buffer.from(`behind ${size}`);
    const alsoCalled = receivers.map(({ ws }) => {
      return new Promise((resolve) => ws.send(behind, (error) => resolve(t.falsy(error))));
    });
    for (const pair of receivers) {
      await expect(t, pair, opcode, payload, `${name}, ${size}`);
      await expect(t, pair, BINARY, behind, `${name}, behind ${size}`);
    }
    await called;
    await Promise.all(alsoCalled);
    await testCounts(t, receivers.map(({ ws }) => ws));
  }
}

async function testAtOnce(t, pairs, name) {
  const way = WRITES[name];
  const [opcode, , , longest = Infinity] = way;
  const sizes = AT_ONCE.filter((length) => length <= longest);
  const sent = sizes.map((size, index) => send(t, pairs, way, payloadOf(size, index)));
  for (const pair of pairs) {
    for (const [index, { receivers }] of sent.entries()) {
      if (receivers.includes(pair)) await expect(t, pair, opcode, payloadOf(sizes[index], index), `${name}, all at once`);
    }
  }
  await Promise.all(sent.map(({ called }) => called));
  await testCounts(t, pairs.map(({ ws }) => ws));
}

/** Messages that keep their place among all others, on every way in and with compression. */
const IN_PLACE = [
  'send() of a string',
  'send() of a Buffer',
  'send() of an ArrayBuffer',
  'send() with compress: false',
  'send() of three fragments',
  'the same string to all',
  'broadcast()',
  'publish()',
  'ping()',
].filter((name) => name in WRITES);
const MIXED = [1, 126, 2048, 16_384, 65_535, 65_536, 300_000, 1];

/** Every way after every other, in one go. */
async function testMixed(t, pairs) {
  const sent = MIXED.flatMap((size, row) => {
    // Another order each time.
    const names = [...IN_PLACE.slice(row), ...IN_PLACE.slice(0, row)];
    return names.map((name, column) => {
      const [opcode, , , longest = Infinity] = WRITES[name];
      const payload = payloadOf(Math.min(size, longest), row * IN_PLACE.length + column);
      return { title: `${name}, ${size}, mixed`, opcode, payload, ...send(t, pairs, WRITES[name], payload) };
    });
  });
  for (const pair of pairs) {
    for (const { title, opcode, payload, receivers } of sent) {
      if (receivers.includes(pair)) await expect(t, pair, opcode, payload, title);
    }
  }
  await Promise.all(sent.map(({ called }) => called));
  await testCounts(t, pairs.map(({ ws }) => ws));
}

async function openPairs(world) {
  const pairs = [];
  while (pairs.length < PEERS) pairs.push(await world.open());
  return pairs;
}

async function testClose(t, world) {
  for (const size of SIZES.filter((length) => length <= REASON_BYTES)) {
    const { ws, messages, peer } = await world.open();
    ws.send('before');
    const reason = payloadOf(size);
    ws.close(1000, reason);
    await expect(t, { messages }, TEXT, Buffer.from('before'), `before close, ${size}`);
    await expect(t, { messages }, CLOSE, Buffer.concat([Buffer.from([0x03, 0xe8]), reason]), `close, ${size}`);
    await testCounts(t, [ws]);
    const closed = once(ws, 'close');
    peer.socket.destroy();
    await closed;
    t.is(ws.bufferedAmount, 0);
  }
}

/** A head with a line of the given length in bytes, and the frames after it. */
async function testHeads(t, world, sizes) {
  for (const size of sizes) {
    const { ws, head, messages, peer } = await world.open(`/?${size}`);
    t.true(head.includes(`\r\nX-Long: ${payloadOf(size).toString('base64')}\r\n`), `${size}`);
    await expect(t, { messages }, TEXT, Buffer.from('first'), `behind a head, ${size}`);
    await untilSent(ws);
    peer.socket.destroy();
  }
}

async function testRefusals(t, world, sizes) {
  // Without a body the answer has the text of the status.
  for (const size of sizes.filter((length) => length > 0)) {
    const peer = await world.peer();
    const head = await peer.upgrade(world.request(`/refuse?${size}`));
    t.true(head.startsWith('HTTP/1.1 401 '));
    const body = await peer.readToEnd();
    t.true(body.equals(payloadOf(size)), `${size}: ${body.length} bytes`);
    peer.socket.destroy();
  }
}

/** The length that the query of a request names. */
const lengthOf = (request) => Number(request.url.split('?')[1]);

async function startAsked(t, way, perMessageDeflate) {
  const verifyClient = ({ req }, answer) => {
    answer(!req.url.startsWith('/refuse'), 401, payloadOf(lengthOf(req)).toString('latin1'));
  };
  const world = await World.start(t, way, { perMessageDeflate, verifyClient });
  world.server.on('headers', (lines, request) => {
    lines.push(`X-Long: ${payloadOf(lengthOf(request)).toString('base64')}`);
  });
  world.server.on('connection', (ws) => ws.send('first', { compress: false }));
  return world;
}

test.serial('the lengths are those of the code', (t) => {
  for (const size of KNOWN) t.true(constants().includes(size), `${size}`);
});

for (const way of WAYS) {
  for (const [compression, perMessageDeflate] of Object.entries(way === 'stream' ? { plain: COMPRESSION.plain } : COMPRESSION)) {
    test.serial(`${way}, ${compression}: every way to send, every length`, async (t) => {
      const world = await World.start(t, way, { perMessageDeflate });
      const pairs = await openPairs(world);
      const sizes = perMessageDeflate ? COMPRESSED : SIZES;
      for (const name of Object.keys(WRITES)) {
        await testLengths(t, pairs, name, sizes);
        await testAtOnce(t, pairs, name);
      }
      await testMixed(t, pairs);
      for (const { ws } of pairs) t.throws(() => ws.ping(payloadOf(CONTROL_BYTES + 1)), { instanceOf: RangeError });
      t.throws(() => pairs[0].ws.close(1000, payloadOf(REASON_BYTES + 1)), { instanceOf: RangeError });
      await testClose(t, world);
    });
  }
  for (const [compression, perMessageDeflate] of Object.entries({ plain: COMPRESSION.plain, context: COMPRESSION.context })) {
    test.serial(`${way}, ${compression}: answers to an upgrade, every length`, async (t) => {
      const world = await startAsked(t, way, perMessageDeflate);
      const sizes = perMessageDeflate ? FEW_SIZES : SIZES;
      await testHeads(t, world, sizes);
      await testRefusals(t, world, sizes);
    });
  }
}

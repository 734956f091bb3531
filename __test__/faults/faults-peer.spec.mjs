// Faults of peers that take time or resources, row by row, on every way in, and whether another
// client is served meanwhile. The rows are those of docs/faults.md; faults-wire.spec.mjs has those
// that are a matter of a few bytes.
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { setImmediate as turn } from 'node:timers/promises';
import { constants, deflateRawSync } from 'node:zlib';

import { WAYS, WebSocket, askRaw, frame, nextEvents, ownOnLinuxSerial, ownSerial, randomNumbers, test } from '../helpers/index.mjs';
import { onEveryWay, opened, openedPair, pair } from '../helpers/under-attack.mjs';
import { RawClient, upgradeRequest } from '../helpers/raw-client.mjs';

const { Sender } = createRequire(import.meta.url)('ws');
const MIB = 2 ** 20;
const DEFLATED = { 'Sec-WebSocket-Extensions': 'permessage-deflate' };
/** Streams on which other decoders overflowed their stack, read too far or did not end. */
const STREAMS = ['06', '010100feff00', 'fc0000', '0400feff', '040024e9ffff', '027effff', '0cc081000000000090ff6b0400', 'edcfc1b12c4710c430fa6f351d0182593dfbbe2e2afc0f0c'];
const FLOODS = ['000000ffff', '000100feff61', '04c0810800000000207feb0b'].map((hex) => hex.repeat(2000));

/** That many raw connections, of which each does something; on the path `/` messages are answered. */
async function crowd(t, { port }, count, act, path = '/sink') {
  const raws = await Promise.all(Array.from({ length: count }, () => opened(t, port, { line: `GET ${path} HTTP/1.1` })));
  await Promise.all(raws.map(act));
  return raws;
}

/** A message that a raw client gets back. */
async function isServed(t, { port }) {
  const raw = await askRaw(t, port, Buffer.concat([Buffer.from(upgradeRequest()), frame(2, 'served')]));
  await raw.until((text) => text.endsWith('served'));
  raw.reset();
}

/** A compressed message of bytes as zlib makes them, or of any. */
const compressed = (bytes) => frame(0x42, bytes);
const deflated = (data, options) => compressed(deflateRawSync(data, { finishFlush: constants.Z_SYNC_FLUSH, ...options }).subarray(0, -4));

const numbered = (count, length = 3) => Array.from({ length: count }, (_, i) => String(i).padStart(length, '0'));
const numbers = (count) => [...Array(count).keys()];

onEveryWay(test.serial, {
  async 'H02: headers that never end'(t, at) {
    const raws = await Promise.all(Array.from({ length: 50 }, () => RawClient.connect(t, at.port)));
    const head = upgradeRequest({ X: 'a'.repeat(20) });
    for (const byte of head.slice(0, 60)) await Promise.all(raws.map((raw) => raw.send(byte)));
    await isServed(t, at);
    for (const raw of raws) raw.reset();
  },

  async 'H20 J18: a verifyClient that answers twice, for a socket that is gone, or never'(t, { way }) {
    const decisions = [];
    const server = await WAYS[way](t, { verifyClient: ({ req }, done) => decisions.push({ url: req.url, done, socket: req.socket }) });
    const { port } = server.address();
    const raws = await Promise.all(['/twice', '/gone', '/never'].map((path) => askRaw(t, port, upgradeRequest({ line: `GET ${path} HTTP/1.1` }))));
    while (decisions.length < 3) await turn();
    const { '/twice': twice, '/gone': gone } = Object.fromEntries(decisions.map((one) => [one.url, one]));
    twice.done(false, 403);
    twice.done(true);
    const closed = nextEvents(gone.socket, 'close', 1);
    raws[1].reset();
    await closed;
    gone.done(true);
    gone.done(true);
    t.regex(await raws[0].closed(), /^HTTP\/1\.1 403/);
    t.is([...server.clients].filter(({ readyState }) => readyState === WebSocket.OPEN).length, 0);
    raws[2].reset();
  },

  async 'F01: frames cut everywhere'(t, at) {
    const bytes = Buffer.concat([frame(1, 'é', false), frame(9, 'p'), frame(0, 'x'), frame(2, 'b'.repeat(130)), frame(1), frame(8, Buffer.from([3, 232]))]);
    const results = new Set();
    for (let cut = 0; cut <= bytes.length; cut++) {
      const { ws, raw } = await openedPair(t, at);
      const events = [];
      for (const event of ['message', 'ping', 'close']) ws.on(event, (...args) => events.push(event, ...args.map(String)));
      const closed = once(ws, 'close');
      await raw.send(bytes.subarray(0, cut));
      if (cut % 2 === 0) await turn();
      await raw.send(bytes.subarray(cut));
      await closed;
      results.add(JSON.stringify(events));
      raw.reset();
    }
    t.is(results.size, 1, [...results].join('\n'));
  },

  async 'F05: unmasking at every alignment'(t, at) {
    const random = randomNumbers(5);
    const { ws, raw } = await openedPair(t, at);
    const received = nextEvents(ws, 'message', 900);
    const sent = Array.from({ length: 900 }, (_, i) => Buffer.from(Array.from({ length: i % 300 }, () => random(256))));
    await raw.send(Buffer.concat(sent.map((payload) => masked(payload))));
    for (const [i, [data]] of (await received).entries()) t.true(data.equals(sent[i]), String(i));
  },

  async 'R01: a peer that does not read'(t, { server, way }) {
    const { ws, client } = await pair(t, server);
    client._socket.pause();
    let failed = 0;
    for (let i = 0; i < 64; i++) ws.send(Buffer.alloc(MIB), (error) => error && failed++);
    for (let i = 0; i < 50; i++) await turn();
    t.true(ws.bufferedAmount > 32 * MIB && ws.bufferedAmount <= 64 * (MIB + 10), String(ws.bufferedAmount));
    const closed = once(ws, 'close');
    ws.terminate();
    await closed;
    // As in ws, a stream that is destroyed amid a write leaves that to itself.
    while (failed === 0 && way !== 'stream') await turn();
    t.is(ws.readyState, WebSocket.CLOSED);
  },

  async 'R02: a peer that reads byte by byte'(t, at) {
    const { ws, client } = await pair(t, at.server);
    const socket = client._socket;
    const received = nextEvents(client, 'message', 200);
    for (let i = 0; i < 200; i++) {
      ws.send(Buffer.alloc(5000, i));
      if (i % 20 === 0) ws.ping(String(i));
      socket.pause();
      await turn();
      socket.resume();
    }
    for (const [i, [data]] of (await received).entries()) t.true(data.equals(Buffer.alloc(5000, i)), String(i));
  },

  async 'R03: a message to many, of whom some do not read'(t, { server }) {
    const pairs = [];
    for (let i = 0; i < 20; i++) pairs.push(await pair(t, server));
    const [stuck, well] = [pairs.slice(0, 2), pairs.slice(2)];
    for (const { client } of stuck) client._socket.pause();
    const received = well.map(({ client }) => nextEvents(client, 'message', 20));
    const data = Buffer.alloc(100_000, 'x');
    for (let i = 0; i < 20; i++) for (const { ws } of pairs) ws.send(data);
    for (const all of await Promise.all(received)) t.true(all.every(([one]) => one.equals(data)));
    const closed = stuck.map(({ ws }) => once(ws, 'close'));
    for (const { ws } of stuck) ws.terminate();
    await Promise.all(closed);
  },

  async 'F15 R04: frames that come slowly, byte by byte'(t, at) {
    const bytes = frame(2, 'slow'.repeat(1000));
    const raws = await crowd(t, at, 10, () => {}, '/');
    for (const byte of bytes) await Promise.all(raws.map((raw) => raw.send(Buffer.from([byte]))));
    for (const raw of raws) await raw.until((text) => text.endsWith('slow'.repeat(1000)));
    for (const raw of raws) raw.reset();
  },

  async 'R05 O07: a long queue, then close()'(t, { server }) {
    const { ws, client } = await pair(t, server);
    let closes = 0;
    ws.on('close', () => closes++);
    const payloads = Array.from({ length: 40 }, (_, i) => Buffer.from(Array.from({ length: 300_000 }, (__, at) => (at * 7 + i) % 251)));
    const received = nextEvents(client, 'message', payloads.length);
    const closed = Promise.all([once(ws, 'close'), once(client, 'close')]);
    for (const payload of payloads) ws.send(payload);
    ws.close(1000, 'over');
    t.true((await received).every(([data], i) => data.equals(payloads[i])));
    for (const [code, reason] of await closed) t.deepEqual([code, String(reason)], [1000, 'over']);
    t.is(closes, 1);
  },

  async 'H21 R08: many connections come and go'(t, at) {
    let [opens, closes] = [0, 0];
    at.server.on('connection', (ws, { url }) => {
      opens++;
      ws.on('close', () => closes++);
      if (url === '/sink' && opens % 4 === 0) ws.terminate();
    });
    const ends = [(raw) => raw.end(), (raw) => raw.reset(), (raw) => raw.send(frame(8)), (raw) => raw.send(frame(3))];
    for (let i = 0; i < 10; i++) {
      const raws = await Promise.all(Array.from({ length: 20 }, () => RawClient.connect(t, at.port)));
      await Promise.all(raws.map((raw) => raw.send(upgradeRequest({ line: 'GET /sink HTTP/1.1' }))));
      await Promise.all(raws.map((raw) => raw.untilClosedOr((text) => text.includes('\r\n\r\n'))));
      raws.forEach((raw, n) => ends[n % 4](raw));
      await Promise.all(raws.map((raw) => raw.closed()));
    }
    while (at.server.clients.size > 1) await turn();
    t.deepEqual([opens, closes], [200, 200]);
  },

  async 'H01 R09: connections that do nothing, before and after the handshake'(t, at) {
    const raws = [...(await crowd(t, at, 300, () => {})), ...(await Promise.all(Array.from({ length: 200 }, () => RawClient.connect(t, at.port))))];
    await isServed(t, at);
    for (const raw of raws) raw.reset();
  },

  async 'R11: JavaScript is blocked'(t, at) {
    const all = [];
    for (let i = 0; i < 10; i++) all.push(await openedPair(t, at));
    const received = all.map(({ ws }) => nextEvents(ws, 'message', 300));
    await Promise.all(all.map(({ raw }) => raw.send(Buffer.concat(numbered(300).map((number) => frame(2, number.repeat(100)))))));
    for (const until = performance.now() + 500; performance.now() < until; );
    for (const messages of await Promise.all(received)) t.deepEqual(messages.map(([data]) => Number(data.subarray(0, 3))), numbers(300));
    t.true(all.every(({ ws }) => ws.readyState === WebSocket.OPEN));
  },

  async 'R12: JavaScript is slow'(t, at) {
    const { ws, raw } = await openedPair(t, at);
    let handled = 0;
    const done = new Promise((resolve) => {
      ws.on('message', () => {
        for (const until = performance.now() + 0.25; performance.now() < until; );
        if (++handled === 2000) resolve();
      });
    });
    await raw.send(Buffer.concat(Array(2000).fill(frame(2, 'x'.repeat(1000)))));
    await isServed(t, at);
    await done;
  },

  async 'R13: a paused connection'(t, at) {
    const { ws, client } = await pair(t, at.server);
    let count = 0;
    ws.on('message', () => count++);
    ws.pause();
    for (let i = 0; i < 100; i++) client.send(Buffer.alloc(100_000, i));
    await isServed(t, at);
    t.is(count, 0);
    const received = nextEvents(ws, 'message', 100);
    ws.resume();
    t.true((await received).every(([data], i) => data[0] === i));
  },

  async 'F13 R14: many unfinished messages, of one frame and of many fragments'(t, at) {
    const parts = [frame(2, Buffer.alloc(MIB)).subarray(0, 300_000), Buffer.concat([frame(2, 'x', false), ...Array(500).fill(frame(0, 'x', false))])];
    const raws = (await Promise.all(parts.map((part) => crowd(t, at, 50, (raw) => raw.send(part))))).flat();
    await isServed(t, at);
    for (const raw of raws) raw.reset();
    await isServed(t, at);
  },

  async 'R15: a flood of sends'(t, { server }) {
    const { ws, client } = await pair(t, server);
    const received = nextEvents(client, 'message', 50_000);
    for (let i = 0; i < 50_000; i++) ws.send(String(i));
    t.true((await received).every(([data], i) => Number(data) === i));
  },

  async 'R17: one connection that floods, and many others'(t, at) {
    const others = [];
    for (let i = 0; i < 20; i++) others.push(await pair(t, at.server, { path: '/other' }));
    const { ws, raw } = await openedPair(t, at);
    const flood = nextEvents(ws, 'message', 50_000);
    const sent = raw.send(Buffer.concat(Array(50_000).fill(frame(2, 'x'))));
    for (const { client } of others) {
      client.send('x');
      await once(client, 'message');
    }
    await Promise.all([flood, sent]);
    t.pass();
  },
});

onEveryWay(ownOnLinuxSerial, {
  async 'R10: the number of threads'(t, at) {
    const threads = () => readdirSync('/proc/self/task').length;
    await isServed(t, at);
    const before = threads();
    const raws = await crowd(t, at, 100, (raw) => raw.send(frame(2, 'x')));
    t.true(threads() <= before, `${before} -> ${threads()}`);
    for (const raw of raws) raw.reset();
  },
});

onEveryWay(ownSerial, {
  async 'R16 O04: many peers that vanish at once'(t, { way }) {
    const server = await WAYS[way](t, { idleTimeout: 50 });
    let ended = 0;
    const over = new Promise((resolve) => {
      server.on('connection', (ws) => ws.on('close', () => ++ended === 100 && resolve()));
    });
    const raws = await Promise.all(Array.from({ length: 100 }, () => RawClient.connect(t, server.address().port)));
    for (const raw of raws) raw.send(upgradeRequest());
    await over;
    while (server.clients.size > 0) await turn();
    t.is(ended, 100);
  },
});

onEveryWay(
  test.serial,
  {
    async 'Z04 Z09: 64 MiB both ways, and little after that'(t, { server }) {
      const { ws, client } = await pair(t, server, { perMessageDeflate: true });
      ws.on('message', (data) => ws.send(data));
      for (const payload of [Buffer.alloc(64 * MIB, 'sixty-four '), Buffer.from('short')]) {
        const echo = once(client, 'message');
        client.send(payload);
        t.true((await echo)[0].equals(payload));
      }
    },

    async 'Z05: windows'(t, { port }) {
      const names = ['server_max_window_bits', 'client_max_window_bits'];
      const bits = ['8', '9', '12', '15', '7', '16', '"10"', ''];
      for (const offer of names.flatMap((name) => bits.map((value) => `permessage-deflate; ${name}${value === '' ? '' : `=${value}`}`))) {
        const raw = await askRaw(t, port, upgradeRequest({ 'Sec-WebSocket-Extensions': offer }));
        const answer = await raw.untilClosedOr((text) => text.includes('\r\n\r\n'));
        t.regex(answer, /(=7|=16|server_max_window_bits)$/.test(offer) ? /^HTTP\/1\.1 400/ : /^HTTP\/1\.1 101/, offer);
        raw.reset();
      }
    },

    async 'Z08: inputs that broke other decoders'(t, at) {
      for (const hex of [...STREAMS, ...FLOODS]) {
        const raw = await opened(t, at.port, DEFLATED);
        await raw.send(compressed(Buffer.from(hex, 'hex')));
        // It is either a message or a broken rule; in both cases the connection is not stuck.
        raw.send(frame(8));
        await raw.closed();
      }
      await isServed(t, at);
    },

    async 'Z07 Z10: contexts of many connections, and messages that are slow to inflate'(t, at) {
      const random = randomNumbers(10);
      const data = Buffer.from(Array.from({ length: 20_000 }, () => random(64)));
      const slow = deflated(data, { strategy: constants.Z_HUFFMAN_ONLY, memLevel: 1 });
      const raws = await Promise.all(Array.from({ length: 40 }, () => opened(t, at.port, DEFLATED)));
      await Promise.all(raws.map((raw) => raw.send(Buffer.concat([...Array(10).fill(slow), deflated(Buffer.alloc(30_000, 'context')), frame(9, 'through')]))));
      for (const raw of raws) await raw.until((text) => text.endsWith('through'));
      for (const raw of raws) raw.reset();
    },
  },
  () => ({ perMessageDeflate: true }),
);

/** A frame with a random mask. */
const masked = (payload) => Buffer.concat(Sender.frame(payload, { fin: true, rsv1: false, opcode: 2, mask: true, readOnly: true }));

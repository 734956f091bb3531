// The bytes of a connection beside its messages: 'data' and push() of `ws._socket`.
import { once } from 'node:events';

import test from 'ava';

import { connect, frame, nextEvents, openPair, openRaw } from './helpers/clients.mjs';
import { isReference, startServer } from './helpers/impl.mjs';
import { RawClient, upgradeRequest } from './helpers/raw-client.mjs';
import { WAYS } from './helpers/ways.mjs';

async function open(t, way) {
  return connect(t, await WAYS[way](t));
}

/** The arguments of 'close', whatever comes before it. */
function closing(emitter) {
  return new Promise((resolve) => emitter.on('close', (...args) => resolve(args)));
}

/** Bytes and messages of the one connection that comes, from its first moment. */
function record(server) {
  return new Promise((resolve) => {
    server.on('connection', (ws) => ws.once('message', (data) => resolve({ data: String(data), ws })));
  });
}

for (const way of Object.keys(WAYS)) {
  test(`${way}: 'data' of the socket shows the bytes before what they say, until nobody listens`, async (t) => {
    const { client, ws } = await open(t, way);
    const seen = [];
    const listener = (chunk) => seen.push(Buffer.from(chunk).toString('hex'));
    ws._socket.prependListener('data', listener);
    ws.on('message', (data) => {
      seen.push(`message ${data}`);
      if (seen.length === 2) {
        ws._socket.off('data', listener);
        ws.send('b');
      }
    });
    client.on('message', (data) => client.send(String(data)));
    const messages = nextEvents(ws, 'message', 2);
    ws.send('a');
    await messages;
    t.is(seen.length, 3, seen.join());
    t.regex(seen[0], /^8181[0-9a-f]{10}$/);
    t.deepEqual(seen.slice(1), ['message a', 'message b']);
  });

  test(`${way}: write() says when it is enough, and 'drain' follows`, async (t) => {
    const { client, ws } = await open(t, way);
    const { _socket: socket } = ws;
    let isEnough = 0;
    let calls = 0;
    const messages = nextEvents(client, 'message', 40);
    const drained = once(socket, 'drain');
    // A binary message of 60,000 bytes.
    const frames = Buffer.concat([Buffer.from([0x82, 126, 0xea, 0x60]), Buffer.alloc(60_000, 'x')]);
    for (let i = 0; i < 40; i++) isEnough += socket.write(frames, () => calls++) ? 0 : 1;
    t.true(isEnough > 30, String(isEnough));
    await drained;
    t.is(calls, 40);
    t.false(socket.writableNeedDrain);
    t.is(socket.writableLength, 0);
    await messages;
    t.true(socket.write(Buffer.from([0x81, 0])));
  });

  test(`${way}: once('data') is told once`, async (t) => {
    const { client, ws } = await open(t, way);
    const shown = once(ws._socket, 'data');
    ws.close(1001);
    const [chunk] = await shown;
    t.is(chunk.subarray(0, 2).toString('hex'), '8882');
    await once(client, 'close');
  });

  test(`${way}: bytes of the peer's close are shown before the peer sees the end that they bring about`, async (t) => {
    const server = await WAYS[way](t);
    const early = [];
    // Only a process that has done this a while is quick enough to see the end first.
    for (let round = 0; round < 200; round++) {
      const { client, ws } = await connect(t, server);
      const closed = once(client, 'close').then(() => 'close');
      const shown = once(ws._socket, 'data').then(() => 'data');
      ws.close(1001);
      if ((await Promise.race([closed, shown])) === 'close') early.push(round);
      await Promise.all([closed, shown]);
    }
    t.deepEqual(early, []);
  });

  test(`${way}: push() is read before what the peer sends next, in order`, async (t) => {
    const { client, ws } = await open(t, way);
    const long = 'x'.repeat(300_000);
    const header = Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0, 4, 0x93, 0xe0, 0, 0, 0, 0]);
    const messages = nextEvents(ws, 'message', 4);
    const data = [];
    ws._socket.on('data', (chunk) => data.push(Buffer.from(chunk)));
    ws._socket.push(frame(1, 'a').subarray(0, 3));
    ws._socket.push(frame(1, 'a').subarray(3));
    ws._socket.push(Buffer.concat([header, Buffer.from(long)]));
    ws._socket.push(frame(2, 'b').toString('latin1'), 'latin1');
    ws.ping();
    await once(client, 'ping');
    client.send('c');
    const texts = (await messages).map(([message, isBinary]) => [message.toString(), isBinary]);
    t.deepEqual(texts, [['a', false], [long, false], ['b', true], ['c', false]]);
    const all = Buffer.concat(data);
    t.is(all.subarray(0, 7).toString('hex'), frame(1, 'a').toString('hex'));
    t.true(all.length >= 7 + 300_014 + 7 + 7);
  });

  test(`${way}: what is pushed to a paused connection waits`, async (t) => {
    const { ws } = await open(t, way);
    let messages = 0;
    ws.on('message', () => messages++);
    ws.pause();
    ws._socket.push(frame(1, 'a'));
    // Whatever would come has come by then.
    const other = await connect(t, await startServer(t));
    other.client.send('x');
    await once(other.ws, 'message');
    t.is(messages, 0);
    const message = once(ws, 'message');
    ws.resume();
    await message;
    t.is(messages, 1);
  });

  test(`${way}: push(null) is the peer's end`, async (t) => {
    const { client, ws } = await open(t, way);
    const ended = Promise.all([once(ws._socket, 'end'), once(ws, 'close'), once(client, 'close')]);
    const message = once(ws, 'message');
    ws._socket.push(frame(1, 'a'));
    ws._socket.push(null);
    t.is(String((await message)[0]), 'a');
    const [, [code], [remote]] = await ended;
    t.deepEqual([code, remote], [1006, 1006]);
  });

  test(`${way}: what breaks the protocol may be pushed`, async (t) => {
    const { client, ws } = await open(t, way);
    const failed = once(ws, 'error');
    const closed = Promise.all([closing(ws), closing(client)]);
    ws._socket.push(Buffer.from('8300', 'hex'));
    t.is((await failed)[0].code, 'WS_ERR_INVALID_OPCODE');
    const [[code], [remote]] = await closed;
    t.deepEqual([code, remote], [1006, 1002]);
  });

  test(`${way}: pushing what is neither bytes nor text destroys the socket`, async (t) => {
    const { ws } = await open(t, way);
    const failed = once(ws._socket, 'error');
    const closed = once(ws, 'close');
    t.false(ws._socket.push(5));
    t.is((await failed)[0].code, 'ERR_INVALID_ARG_TYPE');
    t.is((await closed)[0], 1006);
    t.false(ws._socket.push(frame(1, 'a')));
  });
}

test('bytesRead counts what the peer has sent, once, and nothing that is pushed', async (t) => {
  const server = await startServer(t);
  const raw = await RawClient.connect(t, server.address().port);
  const early = record(server);
  const request = upgradeRequest();
  raw.send(Buffer.concat([Buffer.from(request, 'latin1'), frame(1, 'early')]));
  const { ws } = await early;
  const pushed = once(ws, 'message');
  ws._socket.push(frame(1, 'pushed'));
  await pushed;
  t.is(ws._socket.bytesRead, request.length + 11);
});

// In ws, what came with the request is shown before it listens itself, and its message is lost.
(isReference ? test.skip : test)('a hook of the handshake that listens misses nothing', async (t) => {
  let seen = Buffer.alloc(0);
  const server = await startServer(t);
  server.on('headers', (_headers, { socket }) => {
    socket.on('data', (chunk) => {
      seen = Buffer.concat([seen, chunk]);
    });
  });
  const raw = await RawClient.connect(t, server.address().port);
  const early = record(server);
  raw.send(Buffer.concat([Buffer.from(upgradeRequest(), 'latin1'), frame(1, 'early')]));
  t.is((await early).data, 'early');
  t.is(seen.toString('hex'), frame(1, 'early').toString('hex'));
});

test("the socket's 'data' does not disturb others", async (t) => {
  const { raw, ws } = await openRaw(t);
  const { client: other, ws: otherWs } = await openPair(t);
  ws._socket.on('data', () => {});
  ws.ping('known');
  await raw.until((text) => text.includes('known'));
  const messages = nextEvents(otherWs, 'message', 100);
  for (let i = 0; i < 100; i++) other.send(String(i));
  await raw.send(frame(1, 'a'));
  t.is(String((await once(ws, 'message'))[0]), 'a');
  t.deepEqual((await messages).map(([data]) => Number(data)), [...Array(100).keys()]);
});

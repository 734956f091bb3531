// A WebSocket as a stream: over the reactor's sockets and over streams of Node.
import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import test from 'ava';

import { openPair } from '../helpers/clients.mjs';
import { implementation } from '../helpers/impl.mjs';
import { closeOf, pipePair, rawPair } from '../helpers/streams.mjs';

const { WebSocket, createWebSocketStream } = implementation;

const overReactor = (t) => openPair(t, { maxPayload: 0 });
const overPipe = () => pipePair();

for (const [name, connect] of [['a socket', overReactor], ['a stream', overPipe]]) {
  test(`${name}: chunks are messages, both ways`, async (t) => {
    const { ws, client } = await connect(t);
    const stream = createWebSocketStream(ws, { encoding: 'utf8' });
    const message = once(client, 'message');
    stream.write('chunk');
    t.deepEqual(await message, [Buffer.from('chunk'), true]);
    client.send('answer');
    t.deepEqual(await once(stream, 'data'), ['answer']);
  });

  test(`${name}: the end of the one is the end of the other`, async (t) => {
    const { ws, client } = await connect(t);
    const [near, far] = [createWebSocketStream(ws), createWebSocketStream(client)];
    near.end('last');
    near.resume();
    const closed = Promise.all([once(near, 'close'), once(far, 'close')]);
    const chunks = await far.toArray();
    far.end();
    await closed;
    t.is(Buffer.concat(chunks).toString(), 'last');
    t.true(near.destroyed);
    t.is(ws.readyState, WebSocket.CLOSED);
  });

  test(`${name}: iteration ends with the connection`, async (t) => {
    const { ws, client } = await connect(t);
    const stream = createWebSocketStream(ws, { readableObjectMode: true });
    for (const text of ['a', 'b', 'c']) client.send(text);
    client.close();
    const seen = [];
    for await (const text of stream) seen.push(text);
    t.deepEqual(seen, ['a', 'b', 'c']);
  });

  test(`${name}: a pipeline of several megabytes, with a slow reader`, async (t) => {
    const { ws, client } = await connect(t);
    const chunk = Buffer.alloc(64 * 1024, 'x');
    const source = Readable.from(Array.from({ length: 64 }, () => chunk));
    const slow = new PassThrough({ highWaterMark: 1024 });
    let received = 0;
    const reading = (async () => {
      for await (const data of slow) {
        received += data.length;
        await new Promise(setImmediate);
      }
    })();
    const far = createWebSocketStream(client);
    far.resume();
    const near = createWebSocketStream(ws);
    await Promise.all([pipeline(source, far), pipeline(near, slow), reading]);
    t.is(received, 64 * chunk.length);
  });

  test(`${name}: what nobody reads pauses the connection, which goes on when somebody does`, async (t) => {
    const { ws, client } = await connect(t);
    const stream = createWebSocketStream(ws);
    for (let count = 0; count < 8; count++) client.send(Buffer.alloc(200_000));
    while (!ws.isPaused) await new Promise(setImmediate);
    let received = 0;
    stream.on('data', (data) => {
      received += data.length;
      if (received === 8 * 200_000) client.close();
    });
    await once(stream, 'end');
    t.is(received, 8 * 200_000);
    t.false(ws.isPaused);
  });

  test(`${name}: destroying the stream terminates the connection`, async (t) => {
    const { ws, client } = await connect(t);
    const stream = createWebSocketStream(ws);
    const closed = [closeOf(client), once(stream, 'close')];
    stream.destroy();
    const [[code]] = await Promise.all(closed);
    t.is(code, 1006);
  });

  test(`${name}: an error of the stream's user`, async (t) => {
    const { ws } = await connect(t);
    const stream = createWebSocketStream(ws);
    const error = new Error('mine');
    const errors = once(stream, 'error');
    const closed = new Promise((resolve) => {
      stream.once('close', resolve);
    });
    stream.destroy(error);
    t.deepEqual(await errors, [error]);
    await closed;
  });

  test(`${name}: writing when the connection is gone`, async (t) => {
    const { ws, client } = await connect(t);
    const stream = createWebSocketStream(ws);
    client.close();
    await closeOf(ws);
    const errors = once(stream, 'error');
    stream.write('x');
    t.is((await errors)[0].message, 'WebSocket is not open: readyState 3 (CLOSED)');
  });
}

test('an error of the peer: the close frame leaves, and the stream has the error', async (t) => {
  const { ws, near, far } = rawPair();
  const stream = createWebSocketStream(ws);
  const closed = new Promise((resolve) => {
    stream.once('close', resolve);
  });
  const errors = once(stream, 'error');
  far.write(Buffer.from('838000000000', 'hex'));
  far.end();
  t.is((await errors)[0].code, 'WS_ERR_INVALID_OPCODE');
  await closed;
  t.is(Buffer.concat(near.written).toString('hex'), '880203ea');
});

test('an error of the peer is reported, also if the stream is destroyed before the next tick', async (t) => {
  const { ws, near, far } = rawPair();
  const stream = createWebSocketStream(ws);
  const errors = once(stream, 'error');
  const closed = new Promise((resolve) => {
    stream.once('close', resolve);
  });
  // Behind the listener of the WebSocket itself.
  near.on('data', () => stream.destroy());
  far.write(Buffer.from('c18000000000', 'hex'));
  t.is((await errors)[0].code, 'WS_ERR_UNEXPECTED_RSV_1');
  await closed;
});

test('a client that cannot connect', async (t) => {
  const stream = createWebSocketStream(new WebSocket('ws://127.0.0.1:1'));
  stream.end('never sent');
  const closed = new Promise((resolve) => {
    stream.once('close', resolve);
  });
  const [error] = await once(stream, 'error');
  t.regex(error.message, /ECONNREFUSED/);
  await closed;
});

// A WebSocket as a stream: over the reactor's sockets and over streams of Node.
import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import { implementation, openPair, ownOnly, pipePair, rawPair, test } from '../helpers/index.mjs';

const { createWebSocketStream } = implementation;

const overReactor = (t) => openPair(t, { maxPayload: 0 });
const overPipe = () => pipePair();

for (const [name, connect] of [['a socket', overReactor], ['a stream', overPipe]]) {
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
}

// In ws, it stays for ever.
ownOnly('a stream that ends while its connection fails is destroyed', async (t) => {
  const { ws, near } = rawPair();
  const stream = createWebSocketStream(ws).resume();
  const closed = once(stream, 'close');
  near._final = () => {};
  stream.end();
  setImmediate(() => near.destroy());
  await closed;
  t.true(stream.destroyed);
});

test('an error of the peer is reported, also if the stream is destroyed before the next tick', async (t) => {
  const { ws, near, far } = rawPair();
  const stream = createWebSocketStream(ws);
  const errors = once(stream, 'error');
  const closed = new Promise((resolve) => stream.once('close', resolve));
  // Behind the listener of the WebSocket itself.
  near.on('data', () => stream.destroy());
  far.write(Buffer.from('c18000000000', 'hex'));
  t.is((await errors)[0].code, 'WS_ERR_UNEXPECTED_RSV_1');
  await closed;
});

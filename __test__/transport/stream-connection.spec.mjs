// Connections over TLS and any other Duplex: the same events and API as over sockets.
import { once } from 'node:events';

import { closeOf, eventsOf, frame, nextEvents, ownSerial, pipePair, rawPair, test, tlsPair } from '../helpers/index.mjs';

// One after the other: what they show depends on the turn of the event loop.

const hex = (text) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const turn = () => new Promise(setImmediate);

test('what a paused stream holds when it is destroyed is emitted before `close`', async (t) => {
  const { ws, near, far } = rawPair();
  const seen = eventsOf(ws);
  ws.pause();
  far.write(Buffer.concat([frame(1, 'a'), frame(8, hex('03e9'))]));
  await turn();
  near.destroy();
  await closeOf(ws);
  t.deepEqual(seen, [['text', 'a'], ['close', 1001, '']]);
});

test('`terminate()` destroys a stream whose peer stays after the closing handshake', async (t) => {
  const { ws, near, far } = rawPair();
  far.write(frame(8, ''));
  while (ws.readyState === ws.OPEN) await turn();
  await turn();
  t.false(near.destroyed);
  ws.terminate();
  t.true(near.destroyed);
  t.is((await closeOf(ws))[0], 1005);
});

ownSerial('TLS: `send()` says that there is no room, and `drain` that there is', async (t) => {
  const { ws } = await tlsPair(t);
  while (ws.send(Buffer.alloc(10_000)));
  t.true(ws.bufferedAmount >= 1 << 20);
  await once(ws, 'drain');
  t.true(ws.bufferedAmount <= 1 << 19);
});

test('any other stream is written to at once, one frame after the other', async (t) => {
  const { ws, near } = rawPair();
  const frames = [];
  near._writev = null;
  near._write = (chunk, _encoding, callback) => {
    frames.push(chunk.toString('hex'));
    callback();
  };
  ws.send('a');
  t.is(frames.join(''), '810161');
  ws.send('b');
  t.is(frames.join(''), '810161' + '810162');
});

test('handlers that answer at once, over streams that deliver at once', async (t) => {
  const { ws, client, near, far } = pipePair();
  near.isImmediate = far.isImmediate = true;
  ws.on('message', (data) => ws.send(data));
  const messages = nextEvents(client, 'message', 1000);
  for (let count = 0; count < 1000; count++) client.send(String(count));
  const all = (await messages).map(([data]) => Number(data));
  t.deepEqual(all, [...all.keys()]);
});

// P11, P12.
ownSerial('an engine that fails ends its connection and nothing else', async (t) => {
  await turn();
  const { ws, near } = rawPair();
  const seen = eventsOf(ws);
  // The effect of a chunk that is not memory on the native side.
  near.emit('data', 'not bytes');
  // The bytes after the lost chunk may be the rest of a frame that began in that chunk.
  near.emit('data', frame(1, 'behind'));
  await closeOf(ws);
  t.deepEqual(seen, [['close', 1006, '']]);
});

// permessage-deflate over streams, on the thread of the handlers: long work is done in slices.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';
import { deflateRawSync } from 'node:zlib';

import { RawClient, frame, isReference, nextEvents, ownOnly, ownSerial, startServerBehind, test, upgradeRequest } from '../helpers/index.mjs';
import { closeOf, pipePair, rawPair } from '../helpers/streams.mjs';

// Other tests have no part in its turns.

/** Frames of a client, each of `bytes` zeros with its number at the end, in one chunk. */
function bombs(count, bytes) {
  const frames = Array.from({ length: count }, (_, number) => {
    const message = Buffer.alloc(bytes);
    message[bytes - 1] = number;
    const packed = Buffer.concat([deflateRawSync(message), Buffer.from([0])]);
    return frame(0x42, packed);
  });
  return Buffer.concat(frames);
}

/** The numbers of messages as they come, and `turn` for every turn of the event loop. */
function numbersOf(ws) {
  const seen = [];
  let isWatching = true;
  const watch = () => {
    if (seen.at(-1) !== 'turn') seen.push('turn');
    if (isWatching) setImmediate(watch).unref();
  };
  ws.on('message', (data) => seen.push(data.at(-1)));
  ws.on('close', () => {
    isWatching = false;
    seen.push('close');
  });
  setImmediate(watch);
  return seen;
}

const MESSAGES = [...Array(40).keys()];

ownSerial('many streams that inflate to much have turns of a bounded length, and one with little is first', async (t) => {
  const pairs = Array.from({ length: 40 }, () => rawPair({ deflate: {} }));
  const quiet = rawPair({ deflate: {} });
  let isOver = false;
  let bytes = 0;
  const amounts = [];
  const watch = () => {
    amounts.push(bytes);
    bytes = 0;
    if (!isOver) setImmediate(watch);
  };
  const all = pairs.map(({ ws, far }) => {
    ws.on('message', (data) => (bytes += data.length));
    const messages = nextEvents(ws, 'message', 4);
    far.write(bombs(4, 2 << 20));
    return messages;
  });
  setImmediate(watch);
  await nextEvents(pairs[0].ws, 'message', 1);
  const waits = [];
  for (let n = 0; n < 10; n++) {
    const at = amounts.length;
    const answered = once(quiet.ws, 'message');
    quiet.far.write(bombs(1, 5));
    await answered;
    waits.push(amounts.length - at);
  }
  t.false(amounts.length > 120, 'it was over before');
  await Promise.all(all);
  isOver = true;
  // A read of 8 KiB may be 8 MiB.
  t.true(Math.max(...amounts) <= 8 << 20, `${Math.max(...amounts)} bytes in a turn`);
  // A message is read in the turn after it comes: in the first turns the others have no more.
  t.true(Math.max(...waits.slice(5)) <= 4, waits.join());
  await Promise.all([...pairs, quiet].map(({ ws, far }) => far.destroy() && closeOf(ws)));
});

const CLOSE = Buffer.concat([frame(8, Buffer.from([0x03, 0xe8])), bombs(3, 10)]);

/** J05: the act of the first message's handler, the bytes after the messages, and the events expected at the end. */
for (const [title, kind, options, end, act, expected] of [
  ['the stream closes: all that came is delivered before `close`, once', test, {}, [], ({ near }) => near.destroy(), [...MESSAGES, 'close']],
  ['a close frame comes behind it, and more', test, {}, CLOSE, ({ far }) => far.resume().once('end', () => far.end()), [...MESSAGES, 'close']],
  ['terminate(): nothing but `close`, once', ownOnly, {}, [], ({ ws }) => ws.terminate(), [0, 'close']],
  ['one event per turn, and pause()', test, { allowSynchronousEvents: false }, CLOSE, pauses, [...MESSAGES, 'close']],
]) {
  kind(`meanwhile ${title}`, async (t) => {
    const pair = rawPair({ deflate: {}, ...options });
    const seen = numbersOf(pair.ws);
    pair.far.write(Buffer.concat([bombs(40, 64 << 10), Buffer.from(end)]));
    pair.ws.once('message', () => act(pair));
    const [code] = await closeOf(pair.ws);
    await new Promise(setImmediate);
    t.is(code, end === CLOSE ? 1000 : 1006);
    t.deepEqual(seen.filter((entry) => entry !== 'turn'), expected);
  });
}

function pauses({ ws, far }) {
  ws.pause();
  setImmediate(() => ws.resume());
  far.resume().once('end', () => far.end());
}

ownSerial('a handler that throws meanwhile loses nothing', async (t) => {
  await new Promise(setImmediate);
  const { ws, near } = rawPair({ deflate: {} });
  const seen = numbersOf(ws);
  const failure = new Error('handler');
  ws.once('message', () => {
    throw failure;
  });
  const all = nextEvents(ws, 'message', 39);
  t.throws(() => near.emit('data', bombs(40, 64 << 10)), { is: failure });
  await all;
  t.deepEqual(seen.filter((entry) => entry !== 'turn'), MESSAGES);
});

ownSerial('a handler that throws at the last message of a chunk gets it once', async (t) => {
  await new Promise(setImmediate);
  const { ws, near } = rawPair();
  const seen = numbersOf(ws);
  ws.on('message', () => {
    throw new Error('handler');
  });
  t.throws(() => near.emit('data', Buffer.from([0x82, 0x81, 1, 2, 3, 4, 5])));
  await new Promise(setImmediate);
  t.deepEqual(seen, [4, 'turn']);
});

test('a long message is compressed from what it was, and what is sent after it waits', async (t) => {
  const { ws, client } = pipePair({ deflate: {} }, { deflate: {} });
  const seen = [];
  client.on('message', (data) => seen.push(data.length));
  client.on('ping', (data) => seen.push(String(data)));
  const long = randomBytes(1 << 20);
  const sent = Buffer.from(long);
  const message = once(client, 'message');
  ws.send(sent);
  if (!isReference) sent.fill(0);
  ws.ping('p');
  ws.send('short', { compress: false });
  // With the headers of frames, as on sockets.
  t.is(ws.bufferedAmount, long.length + 1 + 5 + (isReference ? 0 : 10 + 2 + 2));
  ws.close(1000);
  t.true((await message)[0].equals(long));
  await closeOf(client);
  t.deepEqual(seen, [1 << 20, 'p', 5]);
  t.is(ws.bufferedAmount, 0);
});

ownOnly('what is compressed and comes after the request goes to the reactor, if it is little', async (t) => {
  const server = await startServerBehind(t, { perMessageDeflate: true });
  const head = upgradeRequest({ 'Sec-WebSocket-Extensions': 'permessage-deflate; client_no_context_takeover' });
  for (const [count, isStream] of [[2, false], [200, true]]) {
    const raw = await RawClient.connect(t, server.address().port);
    const received = new Promise((resolve) => {
      server.once('connection', (ws) => resolve(nextEvents(ws, 'message', count)));
    });
    raw.send(Buffer.concat([Buffer.from(head), bombs(count, 64 << 10)]));
    t.deepEqual((await received).map(([data]) => data.at(-1)), [...Array(count).keys()]);
    const ws = [...server.clients].at(-1);
    t.is(ws._socket.constructor === net.Socket, isStream);
  }
});

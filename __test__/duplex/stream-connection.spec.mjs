// Connections over TLS and any other Duplex: the same events and the same
// API as over the reactor's sockets.
import { once } from 'node:events';

import test from 'ava';

import { frame, nextEvents } from '../helpers/clients.mjs';
import { isReference } from '../helpers/impl.mjs';
import { attach, closeOf, eventsOf, pipe, pipePair, rawPair, tlsPair } from '../helpers/streams.mjs';

// One after the other: what they show depends on the turn of the event loop.
const ownOnly = isReference ? test.serial.skip : test.serial;

const hex = (text) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const turn = () => new Promise(setImmediate);

test('setSocket opens a WebSocket and shows the stream', (t) => {
  const [near] = pipe();
  t.is(attach(near)._socket, near);
  t.is(attach(pipe()[0]).readyState, 1);
  t.is(attach(pipe()[0])._sender._socket.destroyed, false);
});

test('a server does not mask, a client does, and `mask` says otherwise', async (t) => {
  const generateMask = (key) => key.set([1, 2, 3, 4]);
  const { ws, client, near, far } = pipePair({ generateMask }, { generateMask });
  ws.on('error', () => {});
  client.on('error', () => {});
  ws.send('abc');
  client.send('abc');
  client.ping('x', false);
  await closeOf(ws);
  t.is(Buffer.concat(near.written).toString('hex').slice(0, 10), '8103616263');
  t.is(Buffer.concat(far.written).toString('hex').slice(0, 24), '818301020304' + '606060' + '890178');
});

test('the data of a send is not changed by masking it', async (t) => {
  const { ws, client } = pipePair();
  const data = Buffer.alloc(1000, 7);
  client.send(data);
  await once(ws, 'message');
  t.true(data.equals(Buffer.alloc(1000, 7)));
});

test('head is read before the stream', async (t) => {
  const [near, far] = pipe();
  const seen = eventsOf(attach(near, { head: frame(1, 'first') }));
  far.write(frame(1, 'second'));
  await turn();
  t.deepEqual(seen, [['text', 'first'], ['text', 'second']]);
});

// F17.
test('more unsent pongs than maxPendingAutoPongs terminate', async (t) => {
  const { ws, far } = rawPair({ maxPendingAutoPongs: 2 });
  // More than the stream takes.
  far.write(Buffer.concat(Array.from({ length: 1000 }, () => frame(9, 'x'.repeat(125)))));
  await turn();
  far.write(Buffer.concat([frame(9), frame(9), frame(9)]));
  t.deepEqual(await closeOf(ws), [1006, Buffer.alloc(0)]);
});

test('close: frames go both ways, then the stream ends, then `close`', async (t) => {
  const { ws, client, near } = pipePair();
  const events = [];
  near.on('finish', () => events.push('finish'));
  ws.addEventListener('close', (event) => events.push([event.code, event.reason, event.wasClean]));
  const closed = [closeOf(ws), closeOf(client)];
  ws.close(4000, 'bye');
  t.is(ws.readyState, 2);
  t.deepEqual(await Promise.all(closed), [[4000, Buffer.from('bye')], [4000, Buffer.from('bye')]]);
  t.deepEqual(events, ['finish', [4000, 'bye', true]]);
  t.is(ws.readyState, 3);
  t.true(near.destroyed);
});

// O01.
test('an error of the stream is not one of the WebSocket', async (t) => {
  const { ws, near } = rawPair();
  const seen = eventsOf(ws);
  near.destroy(new Error('broken'));
  await closeOf(ws);
  t.deepEqual(seen, [['close', 1006, '']]);
});

// F12, F20.
test('maxPayload and maxFragments', async (t) => {
  const large = rawPair({ maxPayload: 3 });
  large.far.write(frame(1, 'four'));
  t.like(await once(large.ws, 'error'), [{ code: 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH' }]);
  const many = rawPair({ maxFragments: 1 });
  many.far.write(Buffer.concat([frame(1, 'a', false), frame(0, 'b')]));
  t.like(await once(many.ws, 'error'), [{ code: 'WS_ERR_TOO_MANY_BUFFERED_PARTS' }]);
  // Neither peer ends its side, so that `closeTimeout` would keep the process for 30 s.
  large.far.destroy();
  many.far.destroy();
});

test('pause stops the stream, but not what was read with it', async (t) => {
  const { ws, near, far } = rawPair();
  const seen = eventsOf(ws);
  ws.once('message', () => ws.pause());
  far.write(Buffer.concat([frame(1, 'a'), frame(1, 'b')]));
  await once(ws, 'message');
  far.write(frame(1, 'c'));
  await turn();
  t.true(ws.isPaused);
  t.true(near.isPaused());
  t.deepEqual(seen, [['text', 'a'], ['text', 'b']]);
  ws.resume();
  await once(ws, 'message');
  t.deepEqual(seen.at(-1), ['text', 'c']);
});

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

// R01.
test('bufferedAmount and callbacks wait for a peer that does not read', async (t) => {
  const [near, far] = pipe();
  const ws = attach(near);
  const done = [];
  for (const name of ['a', 'b', 'c']) ws.send(Buffer.alloc(100_000), () => done.push(name));
  await turn();
  t.true(ws.bufferedAmount >= 100_000 && ws.bufferedAmount >= near.writableLength);
  far.resume();
  await new Promise((resolve) => {
    ws.ping('', undefined, resolve);
  });
  t.deepEqual(done, ['a', 'b', 'c']);
  t.is(ws.bufferedAmount, 0);
});

ownOnly('TLS: `send()` says that there is no room, and `drain` that there is', async (t) => {
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

test('terminate after a send still lets the send go', async (t) => {
  const { ws, client } = pipePair();
  ws.send('last words');
  ws.terminate();
  t.deepEqual(await once(client, 'message'), [Buffer.from('last words'), false]);
});

// J02.
ownOnly('a handler that throws loses nothing', async (t) => {
  // Not in the delivery of another test.
  await turn();
  const { ws, near } = rawPair();
  const seen = eventsOf(ws);
  const failure = new Error('handler');
  ws.once('message', () => {
    throw failure;
  });
  t.throws(() => near.emit('data', Buffer.concat([frame(1, 'a'), frame(1, 'b'), frame(9, 'c')])), { is: failure });
  await turn();
  t.deepEqual(seen, [['text', 'a'], ['text', 'b'], ['ping', 'c']]);
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

// J18.
test('TLS: messages of all sizes, and a clean end', async (t) => {
  const { ws, client, near } = await tlsPair(t);
  t.is(ws._socket, near);
  t.true(ws._socket.encrypted);
  ws.on('message', (data, isBinary) => ws.send(data, { binary: isBinary }));
  for (const length of [0, 5, 70_000, 3_000_000]) {
    client.send(Buffer.alloc(length, 'x'));
    const [data] = await once(client, 'message');
    t.is(data.length, length);
  }
  client.close(1000, 'done');
  t.deepEqual(await closeOf(ws), [1000, Buffer.from('done')]);
});

// P11, P12.
ownOnly('an engine that fails ends its connection and nothing else', async (t) => {
  await turn();
  const { ws, near } = rawPair();
  const seen = eventsOf(ws);
  // The effect of a chunk that is not memory on the native side.
  near.emit('data', 'not bytes');
  await closeOf(ws);
  t.deepEqual(seen, [['close', 1006, '']]);
});

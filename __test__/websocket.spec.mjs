// A connection: sent and received messages. Run with WS_IMPL=ws, the same holds for ws.
import { once } from 'node:events';

import test from 'ava';

import { WebSocket, connect, frame, frames, nextEvents, openPair, openRaw } from './helpers/clients.mjs';
import { implementation, startServer } from './helpers/impl.mjs';

test('the constants are on the class and the prototype, enumerable and read-only', (t) => {
  for (const [value, name] of ['CONNECTING', 'OPEN', 'CLOSING', 'CLOSED'].entries()) {
    for (const holder of [WebSocket, WebSocket.prototype]) {
      const { configurable, enumerable, writable } = Object.getOwnPropertyDescriptor(holder, name);
      t.is(holder[name], value);
      t.deepEqual([configurable, enumerable, writable], [false, true, false]);
    }
  }
});

// J01.
test('a detached WebSocket is CONNECTING', (t) => {
  const ws = new WebSocket(null, undefined, {});
  t.is(ws.readyState, WebSocket.CONNECTING);
  t.is(ws.binaryType, 'nodebuffer');
  t.is(ws.protocol, '');
  t.is(ws.extensions, '');
  t.is(ws.url, undefined);
  t.is(ws.isPaused, false);
  t.is(ws._socket, null);
  t.throws(() => ws.send('x'), { message: 'WebSocket is not open: readyState 0 (CONNECTING)' });
  t.throws(() => ws.ping(), { message: 'WebSocket is not open: readyState 0 (CONNECTING)' });
  t.throws(() => ws.pong(), { message: 'WebSocket is not open: readyState 0 (CONNECTING)' });
  ws.pause();
  ws.resume();
  t.is(ws.isPaused, false);
});

test('an open WebSocket shows its protocol, its socket and its request', async (t) => {
  const { ws, request } = await openPair(t, {}, { path: '/a?b', protocols: ['x', 'y'] });
  t.is(ws.readyState, WebSocket.OPEN);
  t.is(ws.protocol, 'x');
  t.is(ws.extensions, '');
  t.is(ws._isServer, true);
  t.is(ws._socket, request.socket);
  t.is(ws._socket.remoteAddress, '127.0.0.1');
  t.is(ws._socket.remoteFamily, 'IPv4');
  t.is(typeof ws._socket.remotePort, 'number');
  t.deepEqual(Object.keys(ws._socket.address()).sort(), ['address', 'family', 'port']);
  t.is(ws._socket.destroyed, false);
  t.is(request.url, '/a?b');
  t.is(request.headers['sec-websocket-protocol'], 'x,y');
});

const matrix = [
  ['undefined', [undefined], '8200'],
  ['null', [null], '8200'],
  ['false', [false], '8200'],
  ['an empty string', [''], '8100'],
  ['0', [0], '810130'],
  ['-1.5', [-1.5], '81042d312e35'],
  ['a string', ['hé'], '810368c3a9'],
  ['a string of more than ten characters', ['abcdefghijkl'], '810c6162636465666768696a6b6c'],
  ['an array', [[1, 2]], '82020102'],
  ['a Buffer', [Buffer.from('ab')], '82026162'],
  ['a Buffer in JSON', [{ type: 'Buffer', data: [1] }], '820101'],
  ['a String object', [new String('s')], '820173'],
  ['an ArrayBuffer', [Uint8Array.of(1, 2).buffer], '82020102'],
  ['a view of two-byte elements', [Uint16Array.of(0x0201)], '82020102'],
  ['a view of a part', [Uint8Array.of(1, 2, 3, 4).subarray(1, 3)], '82020203'],
  ['a DataView', [new DataView(Uint8Array.of(1, 2, 3).buffer, 1)], '82020203'],
  ['binary: true', ['a', { binary: true }], '820161'],
  ['binary: false', [Buffer.from('a'), { binary: false }], '810161'],
  ['binary: undefined', [Buffer.from('a'), { binary: undefined }], '810161'],
  ['compress: undefined', ['a', { compress: undefined }], '810161'],
  ['fin: undefined', ['a', { fin: undefined }], '010161'],
  ['fin: false', ['a', { fin: false }], '010161'],
  ['null options', ['a', null], '810161'],
  ['a Blob', [new Blob(['ab'])], '82026162'],
];

for (const [title, args, expected] of matrix) {
  test(`send: ${title}`, async (t) => {
    const { ws, raw } = await openRaw(t);
    ws.send(...args);
    t.is(await frames(raw, expected.length / 2), expected);
  });
}

for (const value of [true, {}, 1n, Symbol('s')]) {
  // J12.
  test(`send: throws for ${typeof value} ${String(value)}`, async (t) => {
    const { ws } = await openRaw(t);
    t.throws(() => ws.send(value), { instanceOf: TypeError });
  });
}

test('send: callbacks are called in order, after the send', async (t) => {
  const { ws } = await openPair(t);
  const calls = [];
  await new Promise((resolve) => {
    ws.send('a', (error) => calls.push(['a', error ?? null]));
    ws.send('b', {}, (error) => calls.push(['b', error ?? null]));
    ws.ping('c', (error) => calls.push(['c', error ?? null]));
    ws.pong('d', false, (error) => {
      calls.push(['d', error ?? null]);
      resolve();
    });
    t.deepEqual(calls, []);
  });
  t.deepEqual(calls, [['a', null], ['b', null], ['c', null], ['d', null]]);
});

test('send: fragments and control frames between them', async (t) => {
  const { ws, raw } = await openRaw(t);
  ws.send('a', { fin: false });
  ws.ping('p');
  ws.send('b', { fin: false, binary: true });
  ws.send('c');
  ws.send('d');
  t.is(await frames(raw, 15), '010161' + '890170' + '000162' + '800163' + '810164');
});

test('send: what is sent behind a Blob waits for it', async (t) => {
  const { ws, raw } = await openRaw(t);
  ws.send(new Blob(['a']));
  ws.send('b');
  ws.ping('c');
  ws.close(1000);
  t.is(await frames(raw, 13), '820161' + '810162' + '890163' + '880203e8');
});

// J11.
test('close: a reason that waits for a Blob is that of the call', async (t) => {
  const { ws, raw } = await openRaw(t);
  const reason = Buffer.from('why');
  ws.send(new Blob(['a']));
  ws.close(1000, reason);
  reason.fill('x');
  t.is(await frames(raw, 10), '820161' + '880503e8776879');
});

// J01.
test('after close(): send does not throw, its callback gets an error and bufferedAmount grows', async (t) => {
  const { ws } = await openRaw(t);
  ws.close();
  // The close frame itself counts until the kernel has it.
  while (ws.bufferedAmount !== 0) await new Promise((resolve) => setImmediate(resolve));
  const error = await new Promise((resolve) => {
    ws.send('hé', resolve);
  });
  t.is(error.message, 'WebSocket is not open: readyState 2 (CLOSING)');
  t.is(ws.bufferedAmount, 3);
  ws.ping('ab');
  ws.pong(Buffer.alloc(2));
  ws.send(new Blob(['ab']));
  ws.send(12);
  t.is(ws.bufferedAmount, 11);
  ws.terminate();
  await once(ws, 'close');
  const late = await new Promise((resolve) => {
    ws.send('x', resolve);
  });
  t.is(late.message, 'WebSocket is not open: readyState 3 (CLOSED)');
});

// J13.
test('send: lone surrogates become U+FFFD, and the lengths are those of the bytes', async (t) => {
  const { ws, client } = await openPair(t);
  // Short and long, one byte or two per character inside of V8, flat, sliced and concatenated.
  const texts = [
    ...['\ud800', 'a\udc00b', '\udbff\udfff', 'é'.repeat(3000), `${'x'.repeat(70_000)}\ud83d`],
    'sliced \u20ac and more of it'.slice(3),
    `${['a', 'b'.repeat(20)].join('€')}${'c'.repeat(5000)}`,
  ];
  const received = nextEvents(client, 'message', texts.length);
  const sent = Promise.all(texts.map((text) => new Promise((resolve) => ws.send(text, resolve))));
  t.deepEqual((await received).map(([data]) => data), texts.map((text) => Buffer.from(text)));
  // The client may have the whole message before it is counted as sent.
  await sent;
  t.is(ws.bufferedAmount, 0);
});

// J12.
test('ping and pong: data, numbers, and at most 125 bytes', async (t) => {
  const { ws, raw } = await openRaw(t);
  ws.ping();
  ws.ping(12);
  ws.pong([1]);
  ws.ping(Buffer.alloc(0), true);
  const tooLong = { instanceOf: RangeError, message: 'The data size must not be greater than 125 bytes' };
  t.throws(() => ws.ping('é'.repeat(63)), tooLong);
  t.throws(() => ws.pong(Buffer.alloc(126)), tooLong);
  t.is((await frames(raw, 9)).slice(0, 18), '8900' + '89023132' + '8a0101');
});

test('ping is answered by itself before the event, unless autoPong is false', async (t) => {
  const { ws, client } = await openPair(t);
  const [ping, pong] = [once(ws, 'ping'), once(client, 'pong')];
  client.ping('abc');
  t.deepEqual(await ping, [Buffer.from('abc')]);
  t.deepEqual(await pong, [Buffer.from('abc')]);
  const { raw, ws: silent } = await openRaw(t, { autoPong: false });
  const seen = once(silent, 'ping');
  raw.send(Buffer.concat([frame(9, 'x'), frame(1, 'y')]));
  await seen;
  silent.send('z');
  t.is(await frames(raw, 3), '81017a');
});

test('messages: text is a Buffer, empty ones are the same object', async (t) => {
  const { ws, client } = await openPair(t);
  const events = nextEvents(ws, 'message', 4);
  const pinged = once(ws, 'ping');
  client.send('hé');
  client.send(Buffer.from([1, 2]));
  client.send('');
  client.send(Buffer.alloc(0));
  client.ping();
  const received = await events;
  t.deepEqual(received.slice(0, 2), [
    [Buffer.from('hé'), false],
    [Buffer.from([1, 2]), true],
  ]);
  t.deepEqual([received[2][1], received[3][1]], [false, true]);
  t.is(received[2][0], received[3][0]);
  t.is((await pinged)[0], received[2][0]);
  t.is(received[2][0].length, 0);
});

test('binaryType: changes at any time, only for binary messages', async (t) => {
  const { ws, client } = await openPair(t);
  const types = ['arraybuffer', 'fragments', 'blob', 'nodebuffer'];
  for (const type of types) {
    ws.binaryType = type;
    t.is(ws.binaryType, type);
    const [[binary], [empty], [large], [text]] = await (() => {
      const events = nextEvents(ws, 'message', 4);
      client.send(Buffer.from([1, 2, 3]));
      client.send(Buffer.alloc(0));
      client.send(Buffer.alloc(40_000, 5));
      client.send('text');
      return events;
    })();
    t.deepEqual(text, Buffer.from('text'));
    if (type === 'arraybuffer') {
      t.deepEqual(binary, Uint8Array.of(1, 2, 3).buffer);
      t.is(empty.byteLength, 0);
      t.is(large.byteLength, 40_000);
    } else if (type === 'fragments') {
      t.deepEqual(binary, [Buffer.from([1, 2, 3])]);
      t.deepEqual(empty, []);
      t.is(Buffer.concat(large).length, 40_000);
    } else if (type === 'blob') {
      t.is(binary.size, 3);
      t.is(empty.size, 0);
      t.deepEqual(await binary.bytes?.() ?? new Uint8Array(await binary.arrayBuffer()), Uint8Array.of(1, 2, 3));
    } else {
      t.deepEqual(binary, Buffer.from([1, 2, 3]));
    }
  }
  ws.binaryType = 'unknown';
  t.is(ws.binaryType, 'nodebuffer');
});

// J01.
test('the socket: raw writes, end and destroy', async (t) => {
  const { ws, raw } = await openRaw(t);
  const socket = ws._socket;
  for (const method of ['setNoDelay', 'setKeepAlive', 'ref', 'unref', 'setTimeout']) t.notThrows(() => socket[method](0));
  socket.write(Buffer.from('810161', 'hex'));
  t.is(await frames(raw, 3), '810161');
  const [closed, ended] = [once(ws, 'close'), once(socket, 'close')];
  socket.destroy();
  t.true(socket.destroyed);
  t.is((await closed)[0], 1006);
  await ended;
  const other = await openRaw(t);
  const otherClosed = once(other.ws, 'close');
  other.ws._socket.end();
  t.is((await otherClosed)[0], 1006);
});

// J16.
test('a subclass is instantiated and may override emit', async (t) => {
  class Own extends implementation {
    emit(event, ...args) {
      (this.seen ??= []).push(event);
      return super.emit(event, ...args);
    }
  }
  const server = await startServer(t, { WebSocket: Own });
  const { ws, client } = await connect(t, server);
  t.true(ws instanceof Own);
  const message = once(ws, 'message');
  client.send('x');
  await message;
  t.true(ws.seen.includes('open') && ws.seen.includes('message'));
});

test('listeners are those of any emitter', async (t) => {
  const { ws } = await openPair(t);
  // Listeners that a server with clientTracking, or this suite, has attached do not count.
  ws.removeAllListeners();
  t.deepEqual(ws.eventNames(), []);
  const calls = [];
  const listener = (...all) => calls.push(all);
  for (const event of ['a', '__proto__', 'constructor', 'toString']) {
    t.is(ws.listenerCount(event), 0);
    t.false(ws.emit(event));
    ws.on(event, listener);
  }
  ws.once('a', listener);
  t.deepEqual(ws.eventNames(), ['a', '__proto__', 'constructor', 'toString']);
  t.true(ws.emit('a', 1, 2));
  t.true(ws.emit('__proto__', 3));
  t.deepEqual(calls, [[1, 2], [1, 2], [3]]);
  ws.off('a', listener);
  t.deepEqual(ws.eventNames(), ['__proto__', 'constructor', 'toString']);
});

// A connection: what it sends, receives, and how it ends. Run with WS_IMPL=ws, the same holds for ws.
import { once } from 'node:events';

import test from 'ava';

import { WebSocket, connect, frame, frames, nextEvents, openPair, openRaw } from './helpers/clients.mjs';
import { implementation, isReference, startServer } from './helpers/impl.mjs';

const ownOnly = isReference ? test.skip : test;

test('the constants are on the class and the prototype, enumerable and read-only', (t) => {
  for (const [value, name] of ['CONNECTING', 'OPEN', 'CLOSING', 'CLOSED'].entries()) {
    for (const holder of [WebSocket, WebSocket.prototype]) {
      const { configurable, enumerable, writable } = Object.getOwnPropertyDescriptor(holder, name);
      t.is(holder[name], value);
      t.deepEqual([configurable, enumerable, writable], [false, true, false]);
    }
  }
});

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
  test(`send: throws for ${typeof value} ${String(value)}`, async (t) => {
    const { ws } = await openRaw(t);
    t.throws(() => ws.send(value), { instanceOf: TypeError });
  });
}

test('send: headers of all three sizes, in order with large payloads between small ones', async (t) => {
  const { ws, client } = await openPair(t);
  const sizes = [0, 125, 126, 4095, 4096, 65535, 65536, 200_000, 3, 1_000_000, 1];
  const messages = nextEvents(client, 'message', sizes.length * 2);
  for (const size of sizes) {
    ws.send(Buffer.alloc(size, size & 0xff));
    ws.send('é'.repeat(size >> 1));
  }
  const received = await messages;
  sizes.forEach((size, index) => {
    const [[binary, isBinary], [text, isText]] = received.slice(index * 2, index * 2 + 2);
    t.true(isBinary && !isText);
    t.true(binary.equals(Buffer.alloc(size, size & 0xff)));
    t.true(text.equals(Buffer.from('é'.repeat(size >> 1))));
  });
});

test('send: a Buffer may be reused at once', async (t) => {
  const { ws, client } = await openPair(t);
  // ws keeps the Buffer until the kernel has taken it, which for these sizes is at once.
  const data = Buffer.alloc(10_000, 1);
  const message = once(client, 'message');
  ws.send(data);
  if (!isReference) data.fill(2);
  t.true((await message)[0].equals(Buffer.alloc(10_000, 1)));
});

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

test('messages of all sizes arrive whole, and stay what they were', async (t) => {
  const { ws, client } = await openPair(t);
  const sizes = [1, 125, 126, 5000, 16_383, 16_384, 65_536, 300_000, 20, 150_000, 7];
  const messages = nextEvents(ws, 'message', sizes.length);
  for (const size of sizes) client.send(Buffer.alloc(size, size & 0xff));
  const received = await messages;
  // Later traffic must not change what a handler kept.
  const more = nextEvents(ws, 'message', 200);
  for (let index = 0; index < 200; index++) client.send(Buffer.alloc(2000, 0xee));
  await more;
  sizes.forEach((size, index) => t.true(received[index][0].equals(Buffer.alloc(size, size & 0xff))));
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

test('close: checks its arguments before it closes anything', async (t) => {
  const { ws } = await openPair(t);
  const badCode = { instanceOf: TypeError, message: 'First argument must be a valid error code number' };
  for (const code of [999, 1004, 1005, 1006, 1015, 2999, 5000, '1000', null, 1e9]) t.throws(() => ws.close(code), badCode);
  t.throws(() => ws.close(1000, 'é'.repeat(62)), {
    instanceOf: RangeError,
    message: 'The message must not be greater than 123 bytes',
  });
  t.throws(() => ws.close(1000, [1]), { instanceOf: TypeError });
  t.is(ws.readyState, WebSocket.OPEN);
});

for (const [title, args, expected, local] of [
  ['no code', [], '8800', 1005],
  ['a code', [1001], '880203e9', 1001],
  ['a code and an empty reason', [1000, ''], '880203e8', 1000],
  ['a code and a reason', [4999, 'é'], '88041387c3a9', 4999],
  ['a reason of bytes', [3000, Buffer.from('ab')], '88040bb86162', 3000],
]) {
  test(`close: ${title}`, async (t) => {
    const { ws, raw } = await openRaw(t);
    const closed = once(ws, 'close');
    ws.close(...args);
    t.is(ws.readyState, WebSocket.CLOSING);
    ws.close(1000);
    const answer = await frames(raw, expected.length / 2);
    t.is(answer, expected);
    const payload = Buffer.from(expected.slice(4), 'hex');
    raw.send(Buffer.concat([Buffer.from([0x88, 0x80 | payload.length, 0, 0, 0, 0]), payload]));
    const [code, reason] = await closed;
    t.is(code, local);
    t.deepEqual(reason, payload.subarray(2));
    t.is(ws.readyState, WebSocket.CLOSED);
    ws.close();
    ws.terminate();
  });
}

test('the peer closes: the same code and reason go back, and the event has them', async (t) => {
  const { ws, client } = await openPair(t);
  const [own, others] = [once(ws, 'close'), once(client, 'close')];
  client.close(4001, 'bye');
  t.deepEqual(await own, [4001, Buffer.from('bye')]);
  t.deepEqual(await others, [4001, Buffer.from('bye')]);
  t.true(ws._closeFrameReceived && ws._closeFrameSent);
});

test('the peer closes with an empty frame: 1005 and an empty frame back', async (t) => {
  const { ws, raw } = await openRaw(t);
  const closed = once(ws, 'close');
  raw.send(frame(8));
  t.is(await frames(raw, 2), '8800');
  const [code, reason] = await closed;
  t.is(code, 1005);
  t.is(reason.length, 0);
});

test('messages are received until the close frame comes, also after close()', async (t) => {
  const { ws, raw } = await openRaw(t);
  const events = [];
  ws.on('message', (data) => events.push(String(data)));
  const closed = once(ws, 'close');
  ws.close();
  raw.send(Buffer.concat([frame(1, 'a'), frame(1, 'b'), frame(8), frame(1, 'c')]));
  await closed;
  t.deepEqual(events, ['a', 'b']);
});

test('the connection ends without a close frame: 1006 and no error', async (t) => {
  const { ws, raw } = await openRaw(t);
  ws.on('error', () => t.fail());
  const closed = once(ws, 'close');
  raw.end();
  const [code, reason] = await closed;
  t.is(code, 1006);
  t.is(reason.length, 0);
});

const violations = [
  ['RSV1', 'c180 00000000', RangeError, 'WS_ERR_UNEXPECTED_RSV_1', 'Invalid WebSocket frame: RSV1 must be clear', '03ea'],
  ['an opcode', '8380 00000000', RangeError, 'WS_ERR_INVALID_OPCODE', 'Invalid WebSocket frame: invalid opcode 3', '03ea'],
  ['no mask', '8100', RangeError, 'WS_ERR_EXPECTED_MASK', 'Invalid WebSocket frame: MASK must be set', '03ea'],
  ['a close code', '8882 00000000 03ed', RangeError, 'WS_ERR_INVALID_CLOSE_CODE', 'Invalid WebSocket frame: invalid status code 1005', '03ea'],
  ['UTF-8', '8181 00000000 ff', Error, 'WS_ERR_INVALID_UTF8', 'Invalid WebSocket frame: invalid UTF-8 sequence', '03ef'],
];

for (const [title, hex, type, code, message, sent] of violations) {
  test(`a broken rule (${title}): earlier messages, close frame, 'error', 'close' 1006`, async (t) => {
    const { ws, raw } = await openRaw(t);
    const events = [];
    ws.on('message', (data) => events.push(String(data)));
    ws.on('error', (error) => {
      events.push('error');
      t.is(ws.readyState, WebSocket.CLOSING);
      t.is(Object.getPrototypeOf(error), type.prototype);
      t.is(error.code, code);
      t.is(error.message, message);
    });
    const closed = nextEvents(ws, 'close', 1);
    raw.send(Buffer.concat([frame(1, 'a'), Buffer.from(hex.replaceAll(' ', ''), 'hex'), frame(1, 'b')]));
    t.is(await frames(raw, 4), `8802${sent}`);
    raw.end();
    const [[closeCode, reason]] = await closed;
    t.is(closeCode, 1006);
    t.is(reason.length, 0);
    t.deepEqual(events, ['a', 'error']);
  });
}

test('maxPayload: 1009', async (t) => {
  const { ws, client } = await openPair(t, { maxPayload: 10 });
  const [failed, closed] = [once(ws, 'error'), once(client, 'close')];
  client.send(Buffer.alloc(11));
  const [error] = await failed;
  t.is(error.code, 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH');
  t.is(error.message, 'Max payload size exceeded');
  t.is((await closed)[0], 1009);
});

test("terminate: 'close' 1006 later, no message any more", async (t) => {
  const { ws, raw } = await openRaw(t);
  const events = [];
  ws.on('message', (data) => {
    events.push(String(data));
    ws.terminate();
    t.is(ws.readyState, WebSocket.CLOSING);
  });
  const closed = once(ws, 'close');
  raw.send(frame(1, 'a'));
  t.is((await closed)[0], 1006);
  t.deepEqual(events, ['a']);
  t.is(ws.readyState, WebSocket.CLOSED);
  t.is(ws._socket.remoteAddress, undefined);
  t.is(ws._socket.destroyed, true);
  await raw.closed();
});

ownOnly('terminate: what was received with it is dropped', async (t) => {
  const { ws, raw } = await openRaw(t);
  const events = [];
  ws.on('message', (data) => {
    events.push(String(data));
    ws.terminate();
  });
  const closed = once(ws, 'close');
  raw.send(Buffer.concat([frame(1, 'a'), frame(1, 'b'), frame(9, 'c'), frame(8)]));
  t.is((await closed)[0], 1006);
  t.deepEqual(events, ['a']);
});

test('closeTimeout ends a connection whose peer does not answer', async (t) => {
  const { ws } = await openRaw(t, { closeTimeout: 20 });
  const closed = once(ws, 'close');
  ws.close(1000);
  t.is((await closed)[0], 1006);
});

test('pause: what came together is delivered, the rest on resume, in order', async (t) => {
  const { ws, raw } = await openRaw(t);
  const events = [];
  ws.on('message', (data) => {
    events.push(String(data));
    if (events.length === 1) ws.pause();
  });
  ws.on('ping', (data) => events.push(`ping ${data}`));
  const third = new Promise((resolve) => {
    ws.on('message', (data) => String(data) === 'c' && resolve());
  });
  raw.send(Buffer.concat([frame(1, 'a'), frame(1, 'b'), frame(1, 'c')]));
  await third;
  t.deepEqual(events, ['a', 'b', 'c']);
  t.true(ws.isPaused);
  const closed = once(ws, 'close');
  await raw.send(Buffer.concat([frame(1, 'd'), frame(9, 'e'), frame(8, Buffer.from([3, 232]))]));
  // Sends still go out, and nothing was emitted when this one is there.
  ws.send('x');
  await frames(raw, 3);
  t.deepEqual(events, ['a', 'b', 'c']);
  ws.resume();
  t.false(ws.isPaused);
  t.deepEqual(events, ['a', 'b', 'c']);
  t.is((await closed)[0], 1000);
  t.deepEqual(events, ['a', 'b', 'c', 'd', 'ping e']);
});

test('pause: the end of the connection is learnt on resume', async (t) => {
  const { ws, raw } = await openRaw(t);
  ws.pause();
  let isClosed = false;
  ws.on('close', () => {
    isClosed = true;
  });
  await raw.send(frame(1, 'a'));
  raw.end();
  const message = once(ws, 'message');
  await new Promise((resolve) => setImmediate(resolve));
  t.false(isClosed);
  ws.resume();
  t.is(String((await message)[0]), 'a');
  if (!isClosed) await once(ws, 'close');
});

test('pause: terminate closes nevertheless', async (t) => {
  const { ws } = await openRaw(t);
  ws.pause();
  ws.terminate();
  t.is((await once(ws, 'close'))[0], 1006);
  t.true(ws.isPaused);
});

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

test('allowSynchronousEvents: false emits one event per turn', async (t) => {
  const { ws, raw } = await openRaw(t, { allowSynchronousEvents: false });
  const log = [];
  ws.on('message', (data) => {
    log.push(String(data));
    setImmediate(() => log.push(`after ${data}`));
    Promise.resolve().then(() => log.push(`job of ${data}`));
  });
  const closed = once(ws, 'close');
  raw.send(Buffer.concat([frame(1, 'a'), frame(1, 'b'), frame(8)]));
  await closed;
  t.deepEqual(log.filter((entry) => entry.length === 1), ['a', 'b']);
  t.true(log.indexOf('job of a') < log.indexOf('b'));
});

test('allowSynchronousEvents: false loses nothing, with pauses between', async (t) => {
  const { ws, client } = await openPair(t, { allowSynchronousEvents: false });
  const count = 6000;
  const received = [];
  const closed = once(ws, 'close');
  ws.on('message', (data) => {
    received.push(Number(data));
    if (received.length % 500 !== 0) return;
    ws.pause();
    setImmediate(() => ws.resume());
  });
  for (let index = 0; index < count; index++) client.send(String(index));
  client.close(1000);
  await closed;
  t.is(received.length, count);
  t.true(received.every((number, index) => number === index));
});

test('allowSynchronousEvents: true emits what came together before any job runs', async (t) => {
  const { ws, raw } = await openRaw(t);
  const log = [];
  ws.on('message', (data) => {
    log.push(String(data));
    process.nextTick(() => log.push(`tick of ${data}`));
    Promise.resolve().then(() => log.push(`job of ${data}`));
  });
  const closed = once(ws, 'close');
  raw.send(Buffer.concat([frame(1, 'a'), frame(1, 'b'), frame(8)]));
  await closed;
  t.deepEqual(log, ['a', 'b', 'tick of a', 'tick of b', 'job of a', 'job of b']);
});

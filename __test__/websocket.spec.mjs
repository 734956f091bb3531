// What the programs of differential/scenarios do not show of a connection. Run with WS_IMPL=ws, the same holds for ws.
import { once } from 'node:events';

import test from 'ava';

import { WebSocket, connect, nextEvents, openPair } from './helpers/clients.mjs';
import { implementation, startServer } from './helpers/impl.mjs';

test('the attributes of events are enumerable', (t) => {
  for (const type of ['open', 'message', 'close', 'error']) {
    t.true(Object.getOwnPropertyDescriptor(WebSocket.prototype, `on${type}`).enumerable);
  }
});

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

test('an event whose listeners are gone is gone', (t) => {
  const ws = new WebSocket(null, undefined, {});
  const removed = [];
  ws.on('removeListener', (event) => removed.push(event));
  ws.on('message', () => {});
  ws.once('close', () => {});
  ws.removeListener('message', ws.listeners('message')[0]);
  ws.emit('close');
  t.deepEqual(ws.eventNames(), ['removeListener']);
  t.deepEqual(removed, ['message', 'close']);
});

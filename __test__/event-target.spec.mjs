// onmessage and addEventListener. Run with WS_IMPL=ws, the same holds for ws.
import test from 'ava';

import { WebSocket, frame, openPair, openRaw } from './helpers/clients.mjs';

const TYPES = ['open', 'message', 'close', 'error'];

function detached() {
  return new WebSocket(null, undefined, {});
}

test('the attributes are null, take functions and are enumerable', (t) => {
  const ws = detached();
  for (const type of TYPES) {
    const name = `on${type}`;
    t.true(Object.getOwnPropertyDescriptor(WebSocket.prototype, name).enumerable);
    t.is(ws[name], null);
    const handler = () => {};
    ws[name] = handler;
    t.is(ws[name], handler);
    t.is(ws.listenerCount(type), 1);
    ws[name] = 'no function';
    t.is(ws[name], null);
    t.is(ws.listenerCount(type), 0);
  }
});

test('an event whose listeners are gone is gone', (t) => {
  const ws = detached();
  const removed = [];
  ws.on('removeListener', (event) => removed.push(event));
  ws.on('message', () => {});
  ws.once('close', () => {});
  ws.removeListener('message', ws.listeners('message')[0]);
  ws.emit('close');
  t.deepEqual(ws.eventNames(), ['removeListener']);
  t.deepEqual(removed, ['message', 'close']);
});

test('an attribute does not count as the same handler in addEventListener', (t) => {
  const ws = detached();
  const handler = () => {};
  ws.onmessage = handler;
  ws.addEventListener('message', handler);
  ws.addEventListener('message', handler);
  t.is(ws.listenerCount('message'), 2);
  ws.removeEventListener('message', handler);
  t.is(ws.listenerCount('message'), 1);
  t.is(ws.onmessage, handler);
  ws.removeEventListener('message', handler);
  t.is(ws.listenerCount('message'), 1);
  ws.on('message', handler);
  ws.removeEventListener('message', handler);
  t.is(ws.listenerCount('message'), 2);
});

test('other types are ignored', (t) => {
  const ws = detached();
  ws.addEventListener('ping', () => {});
  ws.addEventListener('toString', () => {});
  t.deepEqual(ws.eventNames(), []);
});

test('once, and objects with handleEvent', (t) => {
  const ws = detached();
  const seen = [];
  const object = {
    handleEvent(event) {
      seen.push([this === object, event.type]);
    },
  };
  ws.addEventListener('open', object);
  ws.addEventListener(
    'open',
    function once() {
      seen.push([this === ws, 'once']);
    },
    { once: true },
  );
  ws.emit('open');
  ws.emit('open');
  t.deepEqual(seen, [
    [true, 'open'],
    [true, 'once'],
    [true, 'open'],
  ]);
  ws.removeEventListener('open', object);
  t.is(ws.listenerCount('open'), 0);
});

test('MessageEvent: text is a string, binary what binaryType says', async (t) => {
  const { ws, client } = await openPair(t);
  const next = () =>
    new Promise((resolve) => {
      ws.onmessage = resolve;
    });
  let event = next();
  client.send('hé');
  const text = await event;
  t.is(text.data, 'hé');
  t.is(text.type, 'message');
  t.is(text.target, ws);
  t.is(text.constructor.name, 'MessageEvent');
  event = next();
  client.send(Buffer.from([1]));
  t.deepEqual((await event).data, Buffer.from([1]));
  ws.binaryType = 'arraybuffer';
  event = next();
  client.send(Buffer.from([1]));
  t.deepEqual((await event).data, Uint8Array.of(1).buffer);
});

test('CloseEvent: code, reason and wasClean', async (t) => {
  const { ws, client } = await openPair(t);
  const closed = new Promise((resolve) => {
    ws.onclose = resolve;
  });
  client.close(4000, 'bye');
  const event = await closed;
  t.is(event.constructor.name, 'CloseEvent');
  t.like(event, { type: 'close', code: 4000, reason: 'bye', wasClean: true });
  t.is(event.target, ws);
  const { ws: other } = await openRaw(t);
  const gone = new Promise((resolve) => {
    other.addEventListener('close', resolve);
  });
  other.terminate();
  t.like(await gone, { type: 'close', code: 1006, reason: '', wasClean: false });
});

test('ErrorEvent: the error and its message', async (t) => {
  const { ws, raw } = await openRaw(t);
  const failed = new Promise((resolve) => {
    ws.onerror = resolve;
  });
  raw.send(frame(3));
  const event = await failed;
  t.is(event.constructor.name, 'ErrorEvent');
  t.is(event.type, 'error');
  t.is(event.error.code, 'WS_ERR_INVALID_OPCODE');
  t.is(event.message, event.error.message);
  t.is(event.target, ws);
});

test('event getters are enumerable on the prototypes', async (t) => {
  const { ws, client } = await openPair(t);
  const closed = new Promise((resolve) => {
    ws.onclose = resolve;
  });
  client.close();
  const names = [];
  for (const name in await closed) names.push(name);
  t.deepEqual(names.sort(), ['code', 'reason', 'target', 'type', 'wasClean']);
});

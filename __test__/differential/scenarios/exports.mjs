// The exports of the module, and the shape of its classes.
import { EventEmitter } from 'node:events';
import { Duplex, Writable } from 'node:stream';

import { section } from '../scenario.mjs';
import { outcome } from '../show.mjs';

const s = section('exports');
export default s;

const flags = ({ configurable, enumerable, writable, get, set }) => [configurable, enumerable, writable, typeof get, typeof set];

s.once('names, and which of them are the same', (c) => {
  const { impl } = c;
  c.log('module', typeof impl, impl.name, impl.length, Object.keys(impl).sort());
  c.log('module', impl.WebSocket === impl, impl.Server === impl.WebSocketServer, impl.WebSocketServer.name);
  for (const name of Object.keys(impl).sort()) c.log('module', name, typeof impl[name], impl[name].name);
});

s.once('as an ES module', async (c) => {
  const isWs = c.impl === (await import('ws')).default;
  const module = await import(isWs ? 'ws' : '../../../lib/index.mjs');
  c.log('module', Object.keys(module).sort(), module.default === module.WebSocket, module.WebSocket === c.impl);
});

s.once('inheritance', (c) => {
  const { WebSocket, WebSocketServer, Receiver, createWebSocketStream } = c.impl;
  c.log('module', WebSocket.prototype instanceof EventEmitter, WebSocketServer.prototype instanceof EventEmitter);
  c.log('module', Receiver.prototype instanceof Writable, typeof createWebSocketStream);
});

s.once('the ready states', (c) => {
  const { WebSocket } = c.impl;
  for (const name of ['CONNECTING', 'OPEN', 'CLOSING', 'CLOSED']) {
    for (const object of [WebSocket, WebSocket.prototype]) {
      c.log('module', name, object[name], flags(Object.getOwnPropertyDescriptor(object, name)));
    }
    c.log('module', outcome(() => { WebSocket[name] = 7; }).slice(0, 60), WebSocket[name]);
  }
});

s.once('accessors and methods of WebSocket', (c) => {
  const { prototype } = c.impl.WebSocket;
  const names = ['binaryType', 'bufferedAmount', 'extensions', 'isPaused', 'protocol', 'readyState', 'url'];
  const handlers = ['onopen', 'onmessage', 'onclose', 'onerror'];
  for (const name of [...names, ...handlers]) {
    const { enumerable, get, set } = Object.getOwnPropertyDescriptor(prototype, name);
    c.log('module', name, enumerable, typeof get, typeof set);
  }
  const methods = ['close', 'pause', 'ping', 'pong', 'resume', 'send', 'terminate', 'setSocket', 'emitClose'];
  for (const name of methods) c.log('module', name, flags(Object.getOwnPropertyDescriptor(prototype, name)), prototype[name].length);
  for (const name of ['addEventListener', 'removeEventListener']) c.log('module', name, Object.keys(prototype).includes(name));
  c.log('module', Object.keys(prototype).filter((name) => !name.startsWith('_')).sort());
});

s.once('methods of WebSocketServer', (c) => {
  const { prototype } = c.impl.WebSocketServer;
  for (const name of ['address', 'close', 'shouldHandle', 'handleUpgrade', 'completeUpgrade']) c.log('module', typeof prototype[name], prototype[name].length);
  c.log('module', Object.keys(prototype));
});

s.once('readonly properties that are assigned', (c) => {
  const ws = new c.WebSocket(null, undefined, {});
  for (const name of ['readyState', 'bufferedAmount', 'protocol', 'url', 'extensions', 'isPaused', 'OPEN']) {
    c.log('ws', name, outcome(() => { ws[name] = 1; }).replace(/of .*/, ''), ws[name] === 1 && name !== 'OPEN');
  }
});

s.once('classes need new', (c) => {
  for (const name of ['WebSocketServer', 'Receiver', 'Sender', 'PerMessageDeflate']) {
    c.log('module', name, outcome(() => c.impl[name]()).replace(/^throws (\w+): .*/, '$1'));
  }
});

const headers = [
  'foo', 'foo,bar', 'foo; bar', 'foo; bar=1; bar=2', 'foo; bar="1"', 'foo;bar , baz ; qux = 1', ' foo\t;\tbar ', 'foo; a="b\\c"',
  'permessage-deflate; client_max_window_bits', 'a; b=""', '', ' ', ',', 'foo,', ';', 'foo;', 'foo; bar=', 'foo; bar="', 'foo; "bar"',
  'foo bar', 'foo; a=b c', 'f\x80', 'foo; a="b" c', 'foo;;', 'foo,,bar', 'constructor; __proto__=1', 'foo; a="b\\"', 'foo\\', 'foo; a=b=c',
];
s.once('extension.parse', (c) => {
  for (const header of headers) {
    c.log('extension', header, outcome(() => JSON.stringify(c.impl.extension.parse(header))));
  }
  c.log('extension', Object.getPrototypeOf(c.impl.extension.parse('a')), outcome(() => c.impl.extension.parse()).slice(0, 6));
});

s.once('extension.format', (c) => {
  const values = [{}, { foo: {} }, { foo: [] }, { foo: [{}, { a: true }] }, { a: { b: 1, c: [1, true], d: 'x' }, e: [{ f: [] }] }];
  for (const value of values) c.log('extension', JSON.stringify(value), outcome(() => c.impl.extension.format(value)));
});

s.once('subprotocol.parse', (c) => {
  const lists = ['a', 'a,b', ' a , b\t', 'a,a', '', ' ', ',', 'a,', 'a b', ',a', 'a;b', 'a\x80', '"a"', 'A,a', 'a,,b', 'a ,b ,c', 'a,a;', 'a,a b'];
  for (const list of lists) c.log('subprotocol', list, outcome(() => c.impl.subprotocol.parse(list)));
});

s.once('PerMessageDeflate: compress and decompress', async (c) => {
  const { PerMessageDeflate, extension } = c.impl;
  const both = [true, false].map((isServer) => {
    const one = new PerMessageDeflate({ isServer, threshold: 0 });
    one.accept(extension.parse('permessage-deflate')['permessage-deflate']);
    return one;
  });
  const call = (one, method, data, fin = true) =>
    new Promise((resolve) => one[method](data, fin, (error, result) => resolve(error ?? result)));
  for (const text of ['hello hello hello', 'hello hello hello', '']) {
    const compressed = await call(both[0], 'compress', Buffer.from(text));
    c.log('deflate', compressed, await call(both[1], 'decompress', compressed));
  }
  c.log('deflate', await call(both[1], 'decompress', Buffer.from('ffffff', 'hex')));
  const small = new PerMessageDeflate({ isServer: true, maxPayload: 10 });
  small.accept(extension.parse('permessage-deflate')['permessage-deflate']);
  c.log('deflate', await call(small, 'decompress', await call(both[0], 'compress', Buffer.alloc(100))));
  const unfinished = call(both[0], 'compress', Buffer.from('x'));
  for (const one of [...both, small]) one.cleanup();
  c.log('deflate', await unfinished);
});

s.once('createWebSocketStream makes a Duplex', (c) => {
  const stream = c.impl.createWebSocketStream(new c.WebSocket(null, undefined, {}), { objectMode: true, autoDestroy: true });
  c.log('stream', stream instanceof Duplex, stream.readableObjectMode, stream.writableObjectMode, stream.readableHighWaterMark, stream.destroyed);
});

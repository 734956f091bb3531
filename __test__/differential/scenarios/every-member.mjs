// Everything of WebSocketServer and WebSocket that a subclass, an instance or a patched prototype
// can replace, by reflection over ws: the methods that are called and their arguments, and the
// effect of an accessor with another value.
import { createRequire } from 'node:module';

import { section, watchMethods } from '../scenario.mjs';

const s = section('every member');
export default s;

const require = createRequire(import.meta.url);
const reference = require('ws');
const added = require('../../../lib/index.js');

/** Names of the public methods, or accessors, of ws and the classes that it extends. */
export function membersOf(prototype) {
  const members = { methods: [], accessors: [] };
  for (let one = prototype; one !== Object.prototype; one = Object.getPrototypeOf(one)) {
    for (const [name, { get, value }] of Object.entries(Object.getOwnPropertyDescriptors(one))) {
      if (name.startsWith('_') || name === 'constructor') continue;
      const kind = get === undefined ? 'methods' : 'accessors';
      if ((get !== undefined || typeof value === 'function') && !members[kind].includes(name)) members[kind].push(name);
    }
  }
  return members;
}

const OF_SERVER = membersOf(reference.WebSocketServer.prototype).methods;
const OF_SOCKET = membersOf(reference.WebSocket.prototype).methods;
const CLOSE = ['8882 00000000 03e8'];

/** Calls that are not compared, and the reason; docs/differences.md has each of them. */
const isOwn = {
  // ws has listeners of its own on its WebSockets.
  on: ([event]) => event === 'close',
};

/** The options that a client hands to `setSocket`: ours hands on all that it has. */
const isOfClient = (value) => 'maxRedirects' in value || 'generateMask' in value;
const isPlain = (value) => Object.getPrototypeOf(value) === Object.prototype && !isOfClient(value);
const isShown = (value) => value === null || Buffer.isBuffer(value) || isPlain(value);
const plain = (value) => (typeof value !== 'object' || value instanceof Error || isShown(value) ? value : 'object');

/** Wraps methods so that they log their arguments, each in a lane of its own; `only` of one object. */
function watch(c, who, target, names, only) {
  watchMethods(c, target, names, (name, args, self) => {
    // A server of the scenario before may still emit events.
    if (only !== undefined && self !== only) return;
    if (who !== 'ws' || !isOwn[name]?.(args)) c.log(`${who}.${name}`, ...args.map(plain));
  });
}

/** The events of a connection. */
const acts = {
  'a message, a ping, a pause and a close of the peer': async ({ ws, peer }) => {
    ws.on('message', (data) => ws.send(data));
    await peer.send(['8182 00000000 6869']);
    await peer.frames(1);
    await peer.send(['8982 00000000 7069']);
    await peer.frames(2);
    ws.pause();
    ws.resume();
    await peer.send(CLOSE);
  },
  'an invalid frame': async ({ peer }) => {
    await peer.send(['c182 00000000 6869']);
    await peer.frames(1);
    await peer.send(CLOSE);
    peer.end();
  },
  'a peer that just ends': async ({ peer }) => {
    peer.end();
  },
  'its own close': async ({ ws, peer }) => {
    ws.close(1001, 'bye');
    await peer.frames(1);
    await peer.send(CLOSE);
  },
  'its own end': async ({ ws }) => {
    ws.terminate();
  },
  'a stream over it': async ({ c, ws, peer }) => {
    const stream = c.impl.createWebSocketStream(ws);
    stream.pipe(stream);
    await peer.send(['8182 00000000 6869']);
    await peer.frames(1);
    await peer.send(CLOSE);
  },
};

/** A server with watched members in a style, which does everything that a server does. */
async function visit(c, style) {
  if (style === 'of a subclass') {
    c.WebSocketServer = class extends c.WebSocketServer {};
    watch(c, 'server', c.WebSocketServer.prototype, OF_SERVER);
  }
  const listening = await c.listen({ path: '/' });
  if (style === 'of the instance') watch(c, 'server', listening.wss, OF_SERVER);
  if (style === 'of the prototype') watch(c, 'server', c.impl.WebSocketServer.prototype, OF_SERVER, listening.wss);
  const { ws, peer, closed } = await c.join(listening, { events: [] });
  ws.send('hi');
  await peer.frames(1);
  await peer.send(CLOSE);
  await Promise.all([closed, peer.closed()]);
  for (const [lane, fields] of Object.entries({ key: { 'Sec-WebSocket-Key': null }, path: { line: 'GET /other HTTP/1.1' } })) {
    const refused = await c.peer(listening.port, lane);
    await refused.upgrade(fields);
    await refused.closed();
  }
  await new Promise((resolve) => { listening.wss.close(resolve); });
}

for (const style of ['of a subclass', 'of the instance', 'of the prototype']) {
  s.all(`server: methods ${style}`, (c) => visit(c, style));

  for (const [title, act] of Object.entries(acts)) {
    s.all(`WebSocket: methods ${style}: ${title}`, async (c) => {
      // That of an instance answers no pings, nor does that of a prototype on a port
      // that listens: docs/differences.md.
      const isAsked = style === 'of a subclass' || (style === 'of the prototype' && c.way !== 'port');
      const names = OF_SOCKET.filter((name) => name !== 'pong' || isAsked);
      const Class = style === 'of a subclass' ? class extends c.WebSocket {} : c.WebSocket;
      if (style !== 'of the instance') watch(c, 'ws', Class.prototype, names);
      const onConnection = (ws) => style === 'of the instance' && watch(c, 'ws', ws, names);
      const session = await c.open({ WebSocket: Class }, { events: [], onConnection });
      await act({ c, ...session });
      await Promise.all([session.closed, session.peer.closed()]);
    });
  }
}

/** A subclass whose instances have another value under each public name that ws does not have. */
function filled(Class, own, theirs) {
  const names = Object.getOwnPropertyNames(own.prototype).filter((name) => !name.startsWith('_') && !(name in theirs.prototype));
  return class extends Class {
    constructor(...args) {
      super(...args);
      for (const name of names) Object.defineProperty(this, name, { configurable: true, value: null, writable: true });
    }
  };
}

s.all('names that ws does not have are those of the program', async (c) => {
  c.WebSocketServer = filled(c.WebSocketServer, added.WebSocketServer, reference.WebSocketServer);
  const Class = filled(c.WebSocket, added.WebSocket, reference.WebSocket);
  const { ws, wss, port, peer, closed } = await c.open({ WebSocket: Class, path: '/' });
  await acts['a message, a ping, a pause and a close of the peer']({ ws, peer });
  await Promise.all([closed, peer.closed()]);
  const refused = await c.peer(port, 'refused');
  await refused.upgrade({ line: 'GET /other HTTP/1.1' });
  await refused.closed();
  await new Promise((resolve) => { wss.close(resolve); });
});

/** The value of a replaced accessor; each name of ws must be here. */
const SAYS = {
  binaryType: ['arraybuffer', 'fragments', 'of the program', ''],
  bufferedAmount: [0, 1e9],
  extensions: ['', 'x'],
  isPaused: [false, true],
  onclose: [null],
  onerror: [null],
  onmessage: [null],
  onopen: [null],
  protocol: ['p'],
  // All of them, once it is open.
  readyState: [1],
  url: ['ws://elsewhere/'],
};

s.once('WebSocket: the accessors are those that are tested', (c) => {
  c.log('names', membersOf(c.impl.WebSocket.prototype).accessors.filter((name) => name in SAYS).sort());
  c.log('missing', membersOf(reference.WebSocket.prototype).accessors.filter((name) => !(name in SAYS)));
});

for (const [name, values] of Object.entries(SAYS)) {
  for (const said of values) {
    s.all(`WebSocket: ${name} of the class says ${JSON.stringify(said)}`, async (c) => {
      const Class = class extends c.WebSocket {};
      const set = (value) => c.log('ws', 'set', name, typeof value);
      Object.defineProperty(Class.prototype, name, { configurable: true, get: () => said, set });
      const { ws, peer, closed } = await c.open({ WebSocket: Class }, { events: ['message', 'ping', 'close'] });
      // Paused and resumed as if nothing were said.
      ws.pause();
      await peer.send(['8282 00000000 6869']);
      await c.settle();
      c.log('ws', 'resumes');
      ws.resume();
      await peer.send(['8982 00000000 7069']);
      await peer.frames(1);
      await new Promise((resolve) => { ws.send('back', (error) => resolve(c.log('ws', 'sent', error))); });
      await peer.frames(2);
      await peer.send(CLOSE);
      await Promise.all([closed, peer.closed()]);
    });
  }
}

/** Names that ws never reads. */
for (const name of ['bufferedAmount', 'extensions', 'isPaused', 'protocol', 'url']) {
  s.all(`WebSocket: ${name} of the class throws`, async (c) => {
    const Class = class extends c.WebSocket {};
    Object.defineProperty(Class.prototype, name, { get() { throw new Error(name); } });
    const { ws, peer, closed } = await c.open({ WebSocket: Class, perMessageDeflate: true }, { events: ['message', 'close'] });
    ws.pause();
    ws.resume();
    await peer.send(['8282 00000000 6869']);
    await c.settle();
    await peer.send(CLOSE);
    await Promise.all([closed, peer.closed()]);
  });
}

for (const [first, later] of [['arraybuffer', 'nodebuffer'], ['nodebuffer', 'arraybuffer']]) {
  s.all(`WebSocket: binaryType of the class says ${first}, and ${later} once it is open`, async (c) => {
    let said = first;
    const Class = class extends c.WebSocket {};
    Object.defineProperty(Class.prototype, 'binaryType', { get: () => said, set() {} });
    const { peer, closed } = await c.open({ WebSocket: Class }, { events: ['message', 'close'] });
    said = later;
    await peer.send(['8282 00000000 6869']);
    await c.settle();
    await peer.send(CLOSE);
    await Promise.all([closed, peer.closed()]);
  });
}

for (const style of ['of a subclass', 'of the prototype']) {
  s.once(`client: methods ${style}`, async (c) => {
    const Class = style === 'of a subclass' ? class extends c.WebSocket {} : c.WebSocket;
    const { createHash } = await import('node:crypto');
    const port = await c.origin((head, peer) => {
      const key = /Sec-WebSocket-Key: (.*)\r/i.exec(head)[1];
      const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
      const lines = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade', `Sec-WebSocket-Accept: ${accept}`];
      peer.send(`${lines.join('\r\n')}\r\n\r\n`);
      peer.send(['8102 6869 8902 7069 8802 03e8']);
      peer.end();
    });
    watch(c, 'ws', Class.prototype, OF_SOCKET);
    const client = new Class(`ws://127.0.0.1:${port}/`);
    await new Promise((resolve) => { client.once('close', resolve); });
  });
}

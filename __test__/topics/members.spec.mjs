// Every member of a WebSocket, and of its socket, in every possible state: its result or exception
// is that of ws, and no other connection notices.
import { once } from 'node:events';
import http from 'node:http';
import { createRequire } from 'node:module';
import net from 'node:net';

import { implementation, listenFree, test } from '../helpers/index.mjs';

const require = createRequire(import.meta.url);
const reference = require('ws');
const { NO_SLOT } = require('../../lib/base/constants.js');

const nothing = () => {};

const MEMBERS = {
  addEventListener: (ws) => ws.addEventListener('message', nothing),
  binaryType: (ws) => ws.binaryType,
  'binaryType =': (ws) => (ws.binaryType = 'arraybuffer'),
  bufferedAmount: (ws) => ws.bufferedAmount,
  close: (ws) => ws.close(),
  'close with a code': (ws) => ws.close(1001, 'bye'),
  'close with a wrong code': (ws) => ws.close(5),
  extensions: (ws) => ws.extensions,
  isPaused: (ws) => ws.isPaused,
  onmessage: (ws) => (ws.onmessage = nothing) && ws.onmessage === nothing,
  pause: (ws) => ws.pause(),
  'pause, twice': (ws) => [ws.pause(), ws.pause()].length,
  'pause and resume': (ws) => [ws.pause(), ws.resume()].length,
  ping: (ws) => ws.ping(),
  'ping with everything': (ws) => ws.ping('x', true, nothing),
  pong: (ws) => ws.pong(),
  protocol: (ws) => ws.protocol,
  readyState: (ws) => ws.readyState,
  removeEventListener: (ws) => ws.removeEventListener('message', nothing),
  resume: (ws) => ws.resume(),
  'resume, twice': (ws) => [ws.resume(), ws.resume()].length,
  // The result is documented as different from ws.
  send: (ws) => void ws.send('text'),
  'send of bytes': (ws) => void ws.send(Buffer.alloc(70_000), { compress: false }, nothing),
  'send of nothing': (ws) => void ws.send(),
  terminate: (ws) => ws.terminate(),
  url: (ws) => typeof ws.url,
  _socket: (ws) => ws._socket === null || ws._socket === undefined,
  '_socket.cork': (ws) => (ws._socket.cork(), 1),
  '_socket.destroy': (ws) => (ws._socket.destroy(), 1),
  '_socket.end': (ws) => (ws._socket.end(), 1),
  '_socket.on data': (ws) => (ws._socket.on('data', nothing), 1),
  '_socket.pause': (ws) => (ws._socket.pause(), 1),
  '_socket.ref': (ws) => (ws._socket.ref(), 1),
  '_socket.resume': (ws) => (ws._socket.resume(), 1),
  '_socket.setKeepAlive': (ws) => (ws._socket.setKeepAlive(true, 1000), 1),
  '_socket.setNoDelay': (ws) => (ws._socket.setNoDelay(true), 1),
  '_socket.setTimeout': (ws) => (ws._socket.setTimeout(0), 1),
  '_socket.unref': (ws) => (ws._socket.unref(), 1),
  '_socket.write': (ws) => (ws._socket.write('', nothing), 1),
  '_receiver': (ws) => typeof ws._receiver._maxPayload,
  '_sender.sendFrame': (ws) => ws._sender.sendFrame([Buffer.from([0x81, 0]), Buffer.alloc(0)], nothing),
};

/** A client that ignores errors unless a test listens. */
function connect(WebSocket, port) {
  const ws = new WebSocket(`ws://127.0.0.1:${port}`);
  ws.on('error', nothing);
  return ws;
}

/** Calls `act` in the first event of that name. */
const within = (ws, event, act) => new Promise((resolve) => ws.once(event, () => resolve(act(ws))));

async function opened({ WebSocket, ports }) {
  const ws = connect(WebSocket, ports.open);
  await once(ws, 'open');
  return ws;
}

async function after(ws, event, act) {
  const came = within(ws, event, nothing);
  act();
  await came;
  return ws;
}

/** The states that a WebSocket has from the moment at which it is open. */
function fromOpen(open) {
  const behind = (method) => async (impl, act) => {
    const ws = await open(impl);
    ws[method]();
    return act(ws);
  };
  return {
    open: async (impl, act) => act(await open(impl)),
    closing: behind('close'),
    terminated: behind('terminate'),
    "'close' of one terminated": (impl, act) => behind('terminate')(impl, (ws) => within(ws, 'close', act)),
    closed: (impl, act) => behind('close')(impl, async (ws) => act(await after(ws, 'close', nothing))),
  };
}

/** Ways to bring a client into a state, in which `act` is called. */
const CLIENT_STATES = {
  connecting: ({ WebSocket, ports }, act) => act(connect(WebSocket, ports.silent)),
  'closed before it opened': ({ WebSocket, ports }, act) => {
    const ws = connect(WebSocket, ports.silent);
    ws.close();
    return act(ws);
  },
  "'error' of one closed before it opened": ({ WebSocket, ports }, act) => {
    const ws = connect(WebSocket, ports.silent);
    ws.terminate();
    return within(ws, 'error', act);
  },
  "'error' of one refused by TCP": ({ WebSocket, ports }, act) => within(connect(WebSocket, ports.nobody), 'error', act),
  "'error' of one refused by HTTP": ({ WebSocket, ports }, act) => within(connect(WebSocket, ports.http), 'error', act),
  "'error' of one with a wrong key": ({ WebSocket, ports }, act) => within(connect(WebSocket, ports.wrong), 'error', act),
  "'close' of one refused by TCP": ({ WebSocket, ports }, act) => within(connect(WebSocket, ports.nobody), 'close', act),
  'refused by TCP': async ({ WebSocket, ports }, act) => act(await after(connect(WebSocket, ports.nobody), 'close', nothing)),
  "'open'": ({ WebSocket, ports }, act) => within(connect(WebSocket, ports.open), 'open', act),
  ...fromOpen(opened),
};

/** The same for a WebSocket of a server, which `accept` opens. */
const SERVER_STATES = {
  'without a handshake': ({ WebSocket }, act) => act(new WebSocket(null, undefined, {})),
  ...fromOpen((impl) => impl.accept()),
};

/** The outcome of a member, and the state of the WebSocket afterwards. */
function outcome(ws, member) {
  let result;
  try {
    result = member(ws);
  } catch (error) {
    result = `throws ${error.name}`;
  }
  const left = [ws.readyState, ws.isPaused];
  ws.on('error', nothing);
  try {
    ws.terminate();
  } catch {
    // Without a handshake there is nothing to end.
  }
  return [result, ...left].join(' ');
}

async function outcomes(impl, reach) {
  const seen = {};
  for (const [name, member] of Object.entries(MEMBERS)) seen[name] = await reach(impl, (ws) => outcome(ws, member));
  return seen;
}

/** The differences by state, with reasons. */
const DIFFERENT = [
  {
    why: 'pausing the socket pauses the WebSocket: the reactor reads both',
    // On Windows Node reads the sockets of its servers.
    where: process.platform === 'win32' ? ['port'] : ['port', 'server'],
    state: /^(open|closing|terminated)$/,
    members: ['_socket.pause'],
  },
  {
    why: 'ws reads options that this WebSocket has not got, and leaves it CLOSING for ever',
    where: ['port', 'server'],
    state: /^without a handshake$/,
    members: ['bufferedAmount', 'close', 'close with a code', 'close with a wrong code', 'terminate'],
  },
];

const isListed = (where, state, member) =>
  DIFFERENT.some((entry) => entry.where.includes(where) && entry.state.test(state) && entry.members.includes(member));

/** The members that differ and are not listed, or are listed and do not, with both outcomes. */
async function compare([state, reach], where, expecting, acting) {
  const expected = await outcomes(expecting, reach);
  const actual = await outcomes(acting, reach);
  return Object.keys(MEMBERS)
    .filter((member) => (actual[member] !== expected[member]) !== isListed(where, state, member))
    .map((member) => `${state}: ${member}: ${actual[member]}; ws: ${expected[member]}`);
}

async function listen(t, server) {
  await listenFree(t, server);
  return server.address().port;
}

/** Servers that clients can connect to. */
async function startPeers(t) {
  const silent = net.createServer((socket) => socket.on('error', nothing));
  const refusing = http.createServer().on('upgrade', (_, socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  const wrong = http.createServer().on('upgrade', (_, socket) => {
    socket.on('error', nothing);
    socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
  });
  const open = new reference.WebSocketServer({ port: 0, host: '127.0.0.1' });
  open.on('connection', (ws) => ws.on('error', nothing));
  await once(open, 'listening');
  t.teardown(() => open.close());
  const ports = {
    silent: await listen(t, silent),
    http: await listen(t, refusing),
    wrong: await listen(t, wrong),
    open: open.address().port,
  };
  // The own port of a connection: no server of another test can have it meanwhile.
  const holder = net.connect(ports.silent, '127.0.0.1');
  t.teardown(() => holder.destroy());
  await once(holder, 'connect');
  ports.nobody = holder.localPort;
  return ports;
}

/** The first connection of a port in this process, and whether it is served. */
async function startCanary(t) {
  const server = new implementation.WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  server.on('connection', (ws) => ws.on('message', (data) => ws.send(data)));
  const client = new reference.WebSocket(`ws://127.0.0.1:${server.address().port}`);
  await once(client, 'open');
  t.teardown(() => {
    client.terminate();
    server.close();
  });
  return async () => {
    const answered = once(client, 'message');
    client.send('still there?');
    await answered;
  };
}

/** A server of that kind, and WebSockets that it opens. */
async function startServer(t, { WebSocketServer }, way) {
  const server = way === 'port' ? null : http.createServer();
  if (server !== null) await listen(t, server);
  const wss = new WebSocketServer(way === 'port' ? { port: 0, host: '127.0.0.1' } : { server });
  if (server === null) await once(wss, 'listening');
  const { port } = wss.address();
  t.teardown(() => wss.close());
  return async () => {
    const opening = once(wss, 'connection');
    const client = new reference.WebSocket(`ws://127.0.0.1:${port}`);
    client.on('error', nothing);
    const [ws] = await opening;
    ws.on('error', nothing);
    if (client.readyState === reference.WebSocket.CONNECTING) await once(client, 'open');
    return ws;
  };
}

// First: in a process in which nothing has started a reactor.
test.serial('pause() without a socket needs no reactor', async (t) => {
  const ports = await startPeers(t);
  const ws = connect(implementation.WebSocket, ports.nobody);
  const closed = within(ws, 'close', nothing);
  await within(ws, 'error', () => {
    t.throws(() => ws.pause(), { instanceOf: TypeError });
    t.throws(() => ws.resume(), { instanceOf: TypeError });
  });
  await closed;
});

test.serial('clients', async (t) => {
  const ports = await startPeers(t);
  const isServed = await startCanary(t);
  const expecting = { WebSocket: reference.WebSocket, ports };
  const acting = { WebSocket: implementation.WebSocket, ports };
  const different = [];
  for (const state of Object.entries(CLIENT_STATES)) {
    different.push(...(await compare(state, 'clients', expecting, acting)));
    await isServed();
  }
  t.deepEqual(different, []);
});

for (const way of ['port', 'server']) {
  test.serial(`connections of a server: ${way}`, async (t) => {
    const isServed = await startCanary(t);
    const expecting = { WebSocket: reference.WebSocket, accept: await startServer(t, reference, way) };
    const acting = { WebSocket: implementation.WebSocket, accept: await startServer(t, implementation, way) };
    const different = [];
    for (const state of Object.entries(SERVER_STATES)) {
      different.push(...(await compare(state, way, expecting, acting)));
      await isServed();
    }
    t.deepEqual(different, []);
  });
}

test('a WebSocket without a connection has the name of none', (t) => {
  const ws = new implementation.WebSocket(null);
  t.is(ws._slot, NO_SLOT);
  t.is(ws._generation, 0);
});

// Clients of HTTP/2 that abuse streams, windows and fields, beside one that is served all the time. What nghttp2 or Node
// stops by itself is in here too: the WebSockets of others must not notice.
import { once } from 'node:events';
import http2 from 'node:http2';
import net from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import tls from 'node:tls';

import test from 'ava';

import { cert, key } from '../helpers/certificate.mjs';
import { Child } from '../helpers/child.mjs';
import { connect, open, start, startHttp2 } from '../helpers/http2.mjs';
import { WebSocketServer, isReference, startServer } from '../helpers/impl.mjs';
import { singing } from '../helpers/under-attack.mjs';
import { CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, RawHttp2, RST_STREAM, SETTINGS, block } from '../helpers/raw-http2.mjs';

const own = isReference ? test.skip : test.serial;

const PATIENCE = 180_000;
const SEND_BUDGET = 8 << 20;
const MAJOR = Number(process.versions.node.split('.')[0]);

/** Runs an attack beside a canary, and then looks whether the server has forgotten its streams. */
function attack(title, options, act) {
  own(title, async (t) => {
    // Servers of a thread share the budget of the first one.
    const { server, wss } = await start(t, { sendBudget: SEND_BUDGET, ...options });
    const sessions = new Set();
    server.on('session', (session) => sessions.add(session).size && session.once('close', () => sessions.delete(session)));
    server.on('sessionError', () => {});
    wss.on('connection', (ws, { url }) => {
      ws.on('error', () => {});
      if (url === '/canary') ws.on('message', (data) => ws.send(String(data)));
    });
    const raws = [];
    const attacker = async (settings) => {
      const raw = await RawHttp2.connect(t, server.address().port, settings);
      raws.push(raw);
      return raw;
    };
    const session = await connect(t, server);
    const isAlive = singing(t, await open(session, { path: '/canary' }));
    await act(t, { attacker, server, wss });
    await isAlive();
    session.destroy();
    for (const raw of raws) raw.destroy();
    while (sessions.size > 0 || wss.clients.size > 0) await turn();
    t.is(wss._connections, 0);
  });
}

/** Numbers of streams of a client: 1, 3, 5 ... */
const ids = (count) => Array.from({ length: count }, (_, n) => 2 * n + 1);

attack('streams that are reset as soon as they are asked for', {}, async (t, { attacker }) => {
  for (let round = 0; round < 5; round++) {
    const raw = await attacker();
    for (const id of ids(5000)) {
      if (raw.isClosed) break;
      raw.ask(id);
      await raw.reset(id);
    }
    t.log(raw.isClosed ? 'the session was ended' : 'the session is open');
    raw.destroy();
  }
});

/** nghttp2 reads on later while a write waits: a stream can end with an error before the server looks at it. */
attack('streams that have ended with an error before the server looks at them', {}, async (t, { attacker, server, wss }) => {
  server.on('session', (session) => session.prependListener('stream', (stream) => stream.destroy(new Error('reset'))));
  const raw = await attacker();
  for (const [id, fields] of [[1, {}], [3, { ':method': 'GET', ':protocol': undefined }]]) {
    await raw.ask(id, fields);
    await raw.until(() => raw.of(RST_STREAM, id).length > 0);
  }
  t.is(wss.clients.size, 1);
});

attack('WebSockets that are reset as soon as they are open', {}, async (t, { attacker }) => {
  const raw = await attacker();
  let opened = 0;
  // With more than 1,000, nghttp2 ends the session.
  for (const id of ids(900)) {
    raw.ask(id);
    await raw.until(() => raw.of(HEADERS, id).length > 0);
    if (raw.isClosed) break;
    opened++;
    await raw.reset(id);
  }
  t.is(opened, 900);
});

attack('3,000 streams in one session, of which maxConnectionsPerAddress lets 100 in', { maxConnectionsPerAddress: 101 }, async (t, { attacker, wss }) => {
  const raw = await attacker();
  const all = ids(3000);
  for (const id of all) await raw.ask(id, { path: '/many' });
  await raw.until(() => all.every((id) => raw.of(HEADERS, id).length > 0));
  t.is(all.filter((id) => raw.isOpen(id)).length, 100);
  t.is(wss.clients.size, 101);
  t.is(wss.metrics().handshakes.refused[429], 2900);
});

attack('3,000 WebSockets in one session end with it', {}, async (t, { attacker, wss }) => {
  const raw = await attacker();
  const all = ids(3000);
  for (const id of all) await raw.ask(id);
  await raw.until(() => all.every((id) => raw.of(HEADERS, id).length + raw.of(RST_STREAM, id).length > 0));
  t.is(wss.clients.size - 1, all.filter((id) => raw.isOpen(id)).length);
  t.true(wss.clients.size > 1000);
});

attack('streams whose handshake is never decided', { maxConnectionsPerAddress: 2001, verifyClient: ({ req }, callback) => req.url === '/canary' && callback(true) }, async (t, { attacker, wss }) => {
  for (let round = 0; round < 3; round++) {
    const raw = await attacker();
    const sure = ids(2000);
    for (const id of sure) {
      await raw.ask(id);
      // Before the answer, each may send what its window allows.
      await raw.send(DATA, 0, id, Buffer.alloc(1000));
    }
    const last = 2 * 2000 + 1;
    // All others are counted: this one is refused.
    raw.ask(last);
    await raw.until(() => raw.of(HEADERS, last).length > 0);
    t.is(wss.metrics().handshakes.refused[429], round + 1);
    t.is(wss.clients.size, 1);
    raw.destroy();
    while ((await counted(wss)) > 1) await turn();
  }
});

/** Connections that count for the address of all clients. */
async function counted({ _admission: { native } }) {
  let free = 0;
  while (native.enter('127.0.0.1') === 0) free++;
  for (let i = 0; i < free; i++) native.leave('127.0.0.1');
  return 2001 - free;
}

attack('windows of 0: what waits is bounded by sendBudget, and closing by closeTimeout', { closeTimeout: 500 }, async (t, { attacker, wss }) => {
  const raw = await attacker({ window: 0 });
  const all = ids(50);
  const causes = [];
  wss.on('connection', (ws) => {
    ws.on('close', () => causes.push(ws.closeCause));
    for (let i = 0; i < 20; i++) ws.send(Buffer.alloc(100_000));
  });
  for (const id of all) await raw.ask(id);
  await raw.until(() => all.every((id) => raw.of(HEADERS, id).length + raw.of(RST_STREAM, id).length > 0));
  while (!causes.includes('send-budget')) await turn();
  let waiting = 0;
  for (const ws of wss.clients) waiting += ws.bufferedAmount;
  t.true(waiting <= SEND_BUDGET + 50 * 300_000, `${waiting} bytes wait`);
  for (const ws of wss.clients) if (ws.bufferedAmount > 0) ws.close();
  while (wss.clients.size > 1) await turn();
  t.true(causes.every((cause) => ['send-budget', 'close-timeout', 'closed', 'terminate'].includes(cause)), causes.join());
});

attack('a reset without an error ends a WebSocket at once, although bytes wait', { closeTimeout: 2 ** 31 - 1 }, async (t, { attacker, wss }) => {
  const raw = await attacker({ window: 0 });
  await raw.ask(1);
  const [ws] = await once(wss, 'connection');
  ws.send(Buffer.alloc(100_000));
  await raw.until(() => raw.isOpen(1));
  const closed = once(ws, 'close', { signal: AbortSignal.timeout(PATIENCE) });
  raw.reset(1, 0);
  t.is((await closed)[0], 1006);
});

attack('refusals that a window of 0 keeps from leaving do not stay', { path: '/canary' }, async (t, { attacker, server }) => {
  const streams = new Set();
  server.on('upgrade', (_request, socket) => {
    streams.add(socket);
    socket.once('close', () => streams.delete(socket));
  });
  const raw = await attacker({ window: 0 });
  const all = ids(500);
  for (const id of all) await raw.ask(id, { path: '/no' });
  await raw.until(() => all.every((id) => raw.of(HEADERS, id).length > 0));
  t.is(streams.size, 500);
  // 10 s.
  while (streams.size > 0) await new Promise((resolve) => setTimeout(resolve, 100));
  t.is(raw.isClosed, false);
});

attack('lists of fields that are too long: 431, or the end of the stream', { maxHeaderBytes: 4096, maxHeaders: 50 }, async (t, { attacker, wss }) => {
  const raw = await attacker();
  const field = (n, length) => [`x-${n}`, 'y'.repeat(length)];
  await raw.ask(1, Object.fromEntries([field(1, 5000)]));
  await raw.ask(3, Object.fromEntries(Array.from({ length: 60 }, (_, n) => field(n, 1))));
  await raw.until(() => [1, 3].every((id) => raw.of(HEADERS, id).length > 0));
  t.is(wss.metrics().handshakes.refused[431], 2);
  t.false(raw.isOpen(1) || raw.isOpen(3));
  // More than Node takes: 64 KiB, and 128 fields.
  await raw.ask(5, Object.fromEntries(Array.from({ length: 120 }, (_, n) => field(n, 120))));
  await raw.ask(7, Object.fromEntries(Array.from({ length: 300 }, (_, n) => field(n, 1))));
  await raw.until(() => raw.of(RST_STREAM, 7).length > 0);
  const long = await attacker();
  long.send(HEADERS, 0, 1, block([field(0, 16_000)]));
  for (let n = 0; n < 1000 && !long.isClosed; n++) await long.send(CONTINUATION, 0, 1, block([field(n, 16_000)]));
  await long.until(() => false);
  t.is(wss.clients.size, 1);
});

attack('DATA of one byte', {}, async (t, { attacker, wss }) => {
  const raw = await attacker();
  const messages = [];
  wss.on('connection', (ws) => ws.on('message', (data) => messages.push(data.length)));
  await raw.ask(1);
  const frame = Buffer.concat([Buffer.from([0x82, 0xfe, 0x27, 0x10, 0, 0, 0, 0]), Buffer.alloc(10_000)]);
  for (const byte of frame) await raw.send(DATA, 0, 1, Buffer.from([byte]));
  while (!messages.includes(10_000)) await turn();
  t.pass();
});

attack('fields in the middle, trailers, and DATA after the end', {}, async (t, { attacker, wss }) => {
  const raw = await attacker();
  const closed = [];
  wss.on('connection', (ws) => ws.on('close', (code) => closed.push(code)));
  for (const id of [1, 3, 5, 7]) await raw.ask(id);
  await raw.until(() => [1, 3, 5, 7].every((id) => raw.isOpen(id)));
  raw.send(HEADERS, END_HEADERS, 1, block([['x-more', '1']]));
  raw.send(HEADERS, END_HEADERS | END_STREAM, 3, block([['x-trailer', '1'.repeat(10_000)]]));
  raw.send(HEADERS, END_HEADERS | END_STREAM, 5, block([[':path', '/again']]));
  raw.send(DATA, END_STREAM, 7);
  // An error of the connection, which Node 20 does not end.
  if (MAJOR >= 22) raw.send(DATA, 0, 7, Buffer.from('late'));
  while (closed.length < 4) await turn();
  t.deepEqual(closed, [1006, 1006, 1006, 1006]);
});

attack('frames that break RFC 6455 close their stream and no other', {}, async (t, { attacker, wss }) => {
  const raw = await attacker();
  const codes = [];
  wss.on('connection', (ws) => ws.on('error', ({ code }) => codes.push(code)));
  for (const id of [1, 3]) await raw.ask(id);
  await raw.until(() => [1, 3].every((id) => raw.isOpen(id)));
  await raw.send(DATA, 0, 1, Buffer.from([0x81, 0x01, 0x61]));
  await raw.until(() => raw.of(DATA, 1).length > 0);
  t.is(Buffer.concat(raw.of(DATA, 1).map(({ payload }) => payload)).toString('hex'), '880203ea');
  t.deepEqual(codes, ['WS_ERR_EXPECTED_MASK']);
  await raw.send(DATA, 0, 3, Buffer.from([0x89, 0x80, 0, 0, 0, 0]));
  await raw.until(() => raw.of(DATA, 3).length > 0);
  t.is(raw.of(DATA, 3)[0].payload.toString('hex'), '8a00');
});

/** nghttp2 refuses all that follows, and Node reads no more. */
for (const [title, head] of [['an error', []], ['a GOAWAY, and an error', [[GOAWAY, 0, 0, Buffer.alloc(8)]]]]) {
  attack(`${title} of the connection, and then its end`, {}, async (t, { attacker }) => {
    const raw = await attacker();
    await raw.ask(1);
    await raw.until(() => raw.isOpen(1));
    raw.together(() => {
      for (const frame of [...head, [DATA, 0, 0, Buffer.from('x')]]) raw.send(...frame);
    });
    await raw.until(() => raw.of(GOAWAY, 0).length > head.length);
    t.pass();
  });
}

/** A GOAWAY with an error, and a new stream with data, in one piece: Node 22 would end the process. */
async function leaveAndAsk(raw) {
  raw.together(() => {
    raw.send(GOAWAY, 0, 0, Buffer.from([0, 0, 0, 0, 0, 0, 0, 2]));
    raw.ask(1);
    raw.send(DATA, 0, 1, Buffer.from('data'));
  });
  while (!raw.isClosed) await turn();
}

attack('a GOAWAY with an error, and a new stream with data', {}, async (t, { attacker }) => leaveAndAsk(await attacker()));

/** A client of TLS that asks for a WebSocket. */
async function askSecurely(raw, path, fields) {
  const socket = tls.connect({ socket: raw, ca: cert, servername: 'localhost', ALPNProtocols: ['h2'] });
  await once(socket, 'secureConnect');
  const client = new RawHttp2(socket);
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  client.send(SETTINGS, 0, 0);
  client.ask(1, { path, ...fields });
  return client;
}

/** In Node, the write that meets the reset fails as a success, and the next one waits forever. */
for (const way of ['upgrade', 'connect']) {
  own(`${way}: a client of TLS that resets its connection while the server answers leaves no session`, async (t) => {
    const server = await startHttp2(t, { kind: 'tls', settings: { enableConnectProtocol: true } });
    const wss = new WebSocketServer(way === 'upgrade' ? { server } : { noServer: true });
    if (way === 'connect') server.on('stream', (stream, headers) => wss.handleConnect(stream, headers, wss.emit.bind(wss, 'connection')));
    const sockets = new Set();
    server.on('secureConnection', (socket) => sockets.add(socket).size && socket.once('close', () => sockets.delete(socket)));
    const [raw, staying] = [1, 2].map(() => net.connect({ port: server.address().port, host: '127.0.0.1', allowHalfOpen: true }));
    t.teardown(() => [raw, staying].forEach((socket) => socket.destroy()));
    wss.on('connection', (ws, { url }) => {
      ws.on('error', () => {});
      if (url === '/left') ws._socket.session.close(ws.terminate());
      ws.on('message', (data) => {
        if (url !== '/canary') raw.resetAndDestroy();
        ws.send(String(data));
      });
    });
    const session = await connect(t, server);
    const isAlive = singing(t, await open(session, { path: '/canary' }));
    // The session has no socket from here on, but a client that stays.
    const left = await askSecurely(staying, '/left');
    await left.until(() => left.of(RST_STREAM, 1).length > 0);
    const client = await askSecurely(raw, '/');
    // A text, and a message in parts.
    client.send(DATA, 0, 1, Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x61, 0x61]));
    const head = Buffer.from([0x82, 0xfe, 0x3a, 0x98, 0, 0, 0, 0]);
    for (const part of [Buffer.concat([head, Buffer.alloc(10_000)]), Buffer.alloc(5000)]) client.send(DATA, 0, 1, part);
    while (!raw.destroyed) await turn();
    while (sockets.size > 2 || wss.clients.size > 1) await turn();
    await isAlive();
    t.false(session.destroyed);
    t.false(staying.destroyed);
  });
}

/** HTTP/2 on a port of reactors. */
const behind = isReference || MAJOR < 22 ? test.skip : test.serial;

behind('behind a port, a GOAWAY with an error, and a new stream with data', async (t) => {
  const wss = await startServer(t, { http: http2.createServer().on('sessionError', () => {}) });
  await leaveAndAsk(await RawHttp2.connect(t, wss.address().port));
  t.pass();
});

behind('behind a port, clients that only end TCP leave no session', async (t) => {
  const server = http2.createServer((_request, response) => response.end());
  const sessions = new Set();
  server.on('session', (session) => sessions.add(session) && session.once('close', () => sessions.delete(session)));
  const wss = await startServer(t, { http: server });
  for (let count = 0; count < 20; count++) {
    const raw = await RawHttp2.connect(t, wss.address().port);
    raw.end();
  }
  while (sessions.size > 0) await turn();
  t.pass();
});

/** A process with a server behind a TLS port. A client that has ended must not keep the process alive. */
async function startUnread(t, kind) {
  const child = new Child(t, 'unread.mjs', [kind], { stdio: ['pipe', 'pipe', 'pipe'] });
  const raw = net.connect({ port: Number(await child.line()), host: '127.0.0.1' });
  t.teardown(() => raw.destroy());
  const exits = async () => {
    child.process.stdin.end();
    const { code, stderr } = await child.ended();
    t.is(code, 0, stderr);
  };
  return { child, exits, raw };
}

behind('behind a port with TLS, an error of the connection, more than the session reads, and then its end', async (t) => {
  const { child, exits, raw } = await startUnread(t, 'http2');
  const client = await askSecurely(raw, '/', { ':method': 'GET', ':protocol': undefined });
  t.is(await child.line(1), 'request');
  client.send(GOAWAY, 0, 0, Buffer.alloc(8));
  await client.send(DATA, 0, 0, Buffer.from('x'));
  await client.until(() => client.of(GOAWAY, 0).length > 1);
  for (let count = 0; count < 20; count++) client.send(DATA, 0, 1, Buffer.alloc(16_000));
  client.end();
  t.is(await child.line(2), 'closed');
  await exits();
});

for (const kind of ['http', 'http2']) {
  (kind === 'http' ? own : behind)(`behind a port with TLS, more of an upload than ${kind} reads, and then the client's end`, async (t) => {
    const { child, exits, raw } = await startUnread(t, kind);
    const socket = tls.connect({ socket: raw, ca: cert, servername: 'localhost', ALPNProtocols: ['http/1.1'] });
    // The process can end before it has read all.
    socket.on('error', () => {});
    socket.end(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(300_000)}`);
    t.is(await child.line(1), 'request');
    await exits();
  });

  (kind === 'http' ? own : behind)(`behind a port with TLS, a download of ${kind} to a client that has ended its side`, async (t) => {
    const { child, exits, raw } = await startUnread(t, kind);
    const socket = tls.connect({ socket: raw, ca: cert, servername: 'localhost', ALPNProtocols: ['http/1.1'], allowHalfOpen: true });
    socket.end('GET /download HTTP/1.1\r\nHost: a\r\n\r\n');
    t.is(await child.line(1), 'request');
    const exited = exits();
    t.true(Buffer.concat(await socket.toArray()).length > 20 << 20);
    await exited;
  });
}

/** A client whose connection ends. */
async function ended(t, port) {
  const socket = net.connect(port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  socket.on('error', () => {});
  socket.resume();
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  await new Promise((resolve) => socket.on('close', resolve));
}

behind('behind a port, a server can refuse sessions, at once or in a tick', async (t) => {
  const server = http2.createServer();
  const refuse = [(session) => session.destroy(), (session) => process.nextTick(() => session.destroy())];
  server.on('session', (session) => refuse[0](session));
  const wss = await startServer(t, { http: server });
  for (; refuse.length > 0; refuse.shift()) await ended(t, wss.address().port);
  t.pass();
});

behind('behind a port with TLS, a client without HTTP/2 that resets its connection', async (t) => {
  const server = http2.createSecureServer();
  const wss = await startServer(t, { http: server, tls: { cert, key } });
  for (const listener of [null, (socket) => socket.resume()]) {
    if (listener !== null) server.on('unknownProtocol', listener);
    const raw = net.connect(wss.address().port, '127.0.0.1');
    const socket = tls.connect({ socket: raw, ca: cert, servername: 'localhost' });
    await once(socket, 'secureConnect');
    socket.on('error', () => {});
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await new Promise((resolve) => setTimeout(resolve, 50));
    raw.resetAndDestroy();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  t.pass();
});

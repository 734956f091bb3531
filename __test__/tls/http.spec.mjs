// An HTTP server behind a port with TLS: option http, and listen().
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import net from 'node:net';
import tls from 'node:tls';

import test from 'ava';

import { cert, key } from '../helpers/certificate.mjs';
import { wsClient } from '../helpers/clients.mjs';
import { home, httpServer } from '../helpers/handoff.mjs';
import { WebSocketServer, listen, startServer } from '../helpers/impl.mjs';

const MEGABYTE = 1 << 20;
const SECURE = { key, cert };
const authority = cert;
const CLOSE = 'Connection: close\r\n';

async function start(t, onRequest = home, { http: server = httpServer(t, onRequest), tls: more, ...options } = {}) {
  const wss = await startServer(t, { http: server, tls: { ...SECURE, ...more }, ...options });
  return { http: server, port: wss.address().port, wss };
}

async function ask(port, path, { body, agent, ...options } = {}) {
  const request = https.request({ host: '127.0.0.1', servername: 'localhost', port, path, ca: authority, agent: agent ?? false, ...options });
  request.end(body);
  const [response] = await once(request, 'response');
  return { response, body: Buffer.concat(await response.toArray()), reused: request.reusedSocket };
}

/** Bytes over TLS, and all that comes back. */
async function connect(t, port, options = {}) {
  const socket = tls.connect({ host: '127.0.0.1', port, ca: authority, servername: 'localhost', ...options });
  t.teardown(() => socket.destroy());
  await once(socket, 'secureConnect');
  let text = '';
  socket.on('data', (chunk) => (text += chunk.toString('latin1')));
  socket.on('error', () => {});
  const until = async (isEnough) => {
    while (!isEnough(text)) await Promise.race([once(socket, 'data'), once(socket, 'close').then(() => Promise.reject(new Error(`closed after ${text}`)))]);
    return text;
  };
  const closed = new Promise((resolve) => socket.on('close', () => resolve(text)));
  return { closed, socket, until };
}

test('requests on a keep-alive connection, with what TLS has agreed on', async (t) => {
  const seen = [];
  const { port, wss } = await start(t, (request, response) => {
    const { socket } = request;
    const { encrypted, authorized, servername, alpnProtocol, remoteAddress, localPort } = socket;
    seen.push({ encrypted, authorized, servername, alpnProtocol, remoteAddress, localPort });
    t.true(socket instanceof tls.TLSSocket && socket instanceof net.Socket);
    t.is(socket.getProtocol(), 'TLSv1.3');
    t.regex(socket.getCipher().name, /^TLS_/);
    t.deepEqual(socket.getPeerCertificate(), {});
    t.false(socket.isSessionReused());
    t.is(socket.exportKeyingMaterial(32, 'label').length, 32);
    response.end(String(socket.remotePort));
  });
  const agent = new https.Agent({ keepAlive: true, maxSockets: 1, ALPNProtocols: ['http/1.1'] });
  t.teardown(() => agent.destroy());
  const ports = [];
  for (let count = 0; count < 20; count++) ports.push(String((await ask(port, '/', { agent })).body));
  t.is(new Set(ports).size, 1);
  for (const one of seen) {
    t.deepEqual(one, { encrypted: true, authorized: false, servername: 'localhost', alpnProtocol: 'http/1.1', remoteAddress: '127.0.0.1', localPort: port });
  }
  t.true(wss.metrics().reactors.handedOff >= 1);
});

test('bodies of every size, both ways', async (t) => {
  const { port } = await start(t, async (request, response) => response.end(Buffer.concat(await request.toArray())));
  const agent = new https.Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => agent.destroy());
  for (const size of [0, 1, 2048, 16_384, 16_385, 65_536, MEGABYTE, 5 * MEGABYTE]) {
    const sent = randomBytes(size);
    const { body } = await ask(port, '/', { agent, method: 'POST', body: sent });
    t.is(createHash('sha1').update(body).digest('hex'), createHash('sha1').update(sent).digest('hex'), `${size}`);
  }
});

test('a client that leaves aborts the request: with the word of TLS, without, and by a reset', async (t) => {
  const requests = [];
  const { http: server, port } = await start(t, (request) => {
    request.on('error', () => {});
    requests.push(request);
  });
  for (const leave of ['end', 'cut', 'reset']) {
    const raw = net.connect(port, '127.0.0.1');
    t.teardown(() => raw.destroy());
    await once(raw, 'connect');
    const { socket } = await connect(t, port, { socket: raw });
    const came = once(server, 'request');
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nsome');
    await came;
    const gone = new Promise((resolve) => requests.at(-1).socket.on('close', resolve));
    if (leave === 'end') socket.end();
    else if (leave === 'cut') raw.end();
    else raw.resetAndDestroy();
    await gone;
    t.true(requests.at(-1).destroyed && !requests.at(-1).complete, leave);
  }
});

test('an upgrade after a request, and the first one, are served by a reactor', async (t) => {
  const { port, wss } = await start(t, home, { path: '/ws', perMessageDeflate: { threshold: 0 } });
  for (const before of [0, 1, 2]) {
    const agent = new https.Agent({ keepAlive: true, maxSockets: 1 });
    t.teardown(() => agent.destroy());
    for (let count = 0; count < before; count++) t.is(String((await ask(port, '/page', { agent })).body), 'GET /page');
    const connected = once(wss, 'connection');
    const client = new wsClient(`wss://localhost:${port}/ws`, { agent, ca: authority });
    t.teardown(() => client.terminate());
    const [[ws, request]] = await Promise.all([connected, once(client, 'open')]);
    t.is(ws._extra?.stream ?? null, null);
    t.true(request.socket.encrypted && ws._socket.encrypted);
    t.is(request.socket.getProtocol(), 'TLSv1.3');
    t.deepEqual(request.socket.getPeerCertificate(true), {});
    t.is(request.socket.exportKeyingMaterial(16, 'x').length, 16);
    ws.on('message', (data) => ws.send(data));
    for (const size of [1, 20_000, 2 * MEGABYTE]) {
      const sent = randomBytes(size);
      client.send(sent);
      const [got] = await once(client, 'message');
      t.true(got.equals(sent));
    }
    const closed = once(ws, 'close');
    client.close(3000, 'enough');
    t.is((await closed)[0], 3000);
  }
});

test('listen(): every connection, and its upgrades come back to the reactor', async (t) => {
  const server = httpServer(t, home);
  const wss = new WebSocketServer({ noServer: true });
  server.on('upgrade', (request, socket, head) => wss.handleUpgrade(request, socket, head, (ws) => ws.send(request.url)));
  const listener = listen(server, { port: 0, host: '127.0.0.1', tls: { ...SECURE, requestCert: true, rejectUnauthorized: false } });
  t.teardown(() => listener.close());
  await once(listener, 'listening');
  const { port } = listener.address();
  t.is(String((await ask(port, '/page')).body), 'GET /page');
  const client = new wsClient(`wss://localhost:${port}/any`, { ca: authority, cert, key });
  t.teardown(() => client.terminate());
  t.is(String((await once(client, 'message'))[0]), '/any');
  const [ws] = wss.clients;
  t.is(ws._extra?.stream ?? null, null);
  // Also what only the listener knows.
  t.is(ws._socket.getPeerCertificate(true).subject.CN, 'localhost');
  t.is(ws._socket.getCertificate().subject.CN, 'localhost');
  client.close();
  await once(client, 'close');
});

test('secureConnection is told of connections that are given, and its socket closes', async (t) => {
  const { port, wss } = await start(t, home);
  const told = once(wss, 'secureConnection');
  const { closed, socket } = await connect(t, port);
  const [secure] = await told;
  const gone = once(secure, 'close');
  socket.write(`GET /page HTTP/1.1\r\nHost: a\r\n${CLOSE}\r\n`);
  t.regex(await closed, /GET \/page$/);
  await gone;
});

test('where a server of Node listens, it gives its connections', async (t) => {
  const { port, wss } = await start(t, home, { port: { port: 0, host: '127.0.0.1', readableAll: true }, path: '/ws' });
  t.is(String((await ask(port, '/page')).body), 'GET /page');
  const client = new wsClient(`wss://localhost:${port}/ws`, { ca: authority });
  t.teardown(() => client.terminate());
  await once(client, 'open');
  t.is(wss.clients.size, 1);
});

test('plain HTTP on this port reaches no HTTP server', async (t) => {
  const { http: server, port } = await start(t, home);
  server.on('connection', () => t.fail());
  const raw = http.get({ host: '127.0.0.1', port });
  const [{ code }] = await once(raw, 'error');
  t.is(code, 'ECONNRESET');
});

const major = Number.parseInt(process.versions.node, 10);
const isSafe = major >= 22;

test('an HTTP/2 server is refused where Node is not safe', (t) => {
  const message = /^options.http must not be an HTTP\/2 server with Node 20:/;
  const make = () => new WebSocketServer({ port: 0, host: '127.0.0.1', http: http2.createServer() });
  if (!isSafe) t.throws(make, { instanceOf: TypeError, message });
  else t.notThrows(() => make().close());
});

(isSafe ? test : test.skip)('ALPN h2 goes to node:http2, http/1.1 beside it, and WebSockets', async (t) => {
  const server = http2.createSecureServer({ allowHTTP1: true }, (request, response) => {
    const { alpnProtocol, encrypted, remoteAddress } = request.socket;
    t.deepEqual({ encrypted, remoteAddress }, { encrypted: true, remoteAddress: '127.0.0.1' });
    t.is(request.socket.getProtocol(), 'TLSv1.3');
    if (request.stream) t.deepEqual([request.stream.session.encrypted, request.stream.session.alpnProtocol], [true, 'h2']);
    response.end(`${request.httpVersion} ${request.url} ${alpnProtocol}`);
  });
  t.teardown(() => server.close());
  const { port, wss } = await start(t, home, { http: server, path: '/ws' });
  const session = http2.connect(`https://localhost:${port}`, { ca: authority });
  t.teardown(() => session.destroy());
  const get = async (path) => {
    const stream = session.request({ ':path': path });
    return Buffer.concat(await stream.toArray()).toString();
  };
  t.deepEqual(await Promise.all(['/1', '/2', '/3'].map(get)), ['2.0 /1 h2', '2.0 /2 h2', '2.0 /3 h2']);
  t.is(session.alpnProtocol, 'h2');
  t.is(String((await ask(port, '/old', { ALPNProtocols: ['http/1.1'] })).body), '1.1 /old http/1.1');
  const client = new wsClient(`wss://localhost:${port}/ws`, { ca: authority });
  t.teardown(() => client.terminate());
  await once(client, 'open');
  t.is(wss.clients.size, 1);
  const posted = session.request({ ':method': 'POST', ':path': '/big' });
  posted.end(randomBytes(3 * MEGABYTE));
  t.is(Buffer.concat(await posted.toArray()).toString(), '2.0 /big h2');
});

(isSafe ? test : test.skip)('clients of HTTP/2 that leave in the middle, and those that send nonsense, end their session only', async (t) => {
  const server = http2.createSecureServer();
  server.on('sessionError', () => {});
  server.on('stream', (stream) => {
    stream.on('error', () => {});
    if (stream.destroyed) return;
    stream.respond({ ':status': 200 });
    stream.end(Buffer.alloc(100_000));
  });
  t.teardown(() => server.close());
  const { port } = await start(t, home, { http: server });
  const open = async () => {
    const raw = net.connect(port, '127.0.0.1');
    raw.on('error', () => {});
    const { socket } = await connect(t, port, { ALPNProtocols: ['h2'], socket: raw });
    socket.reset = () => raw.resetAndDestroy();
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]));
    return socket;
  };
  /** GET / of https, in literals without Huffman codes. */
  const fields = Buffer.from([0x82, 0x84, 0x87, 0x41, 0x01, 0x61]);
  const request = (stream) => Buffer.concat([Buffer.from([0, 0, fields.length, 1, 5, 0, 0, 0, stream]), fields]);
  const ends = [
    (socket) => socket.end(),
    (socket) => socket.destroy(),
    (socket) => socket.reset(),
    (socket) => socket.write(Buffer.concat([Buffer.from([0, 0, 100, 3, 0, 0, 0, 0, 1]), randomBytes(100)])),
    (socket) => socket.end(Buffer.concat([Buffer.from([0, 1, 0, 7, 0, 0, 0, 0, 0]), randomBytes(256)])),
  ];
  for (let round = 0; round < 40; round++) {
    const sockets = await Promise.all(Array.from({ length: 10 }, open));
    for (const [index, socket] of sockets.entries()) {
      for (let stream = 1; stream < 20; stream += 2) socket.write(request(stream));
      if (round % 3 > 0) await new Promise((resolve) => setTimeout(resolve, round % 3));
      ends[(round + index) % ends.length](socket);
    }
    for (const socket of sockets) setTimeout(() => socket.destroy(), 20);
  }
  const session = http2.connect(`https://localhost:${port}`, { ca: authority });
  t.teardown(() => session.destroy());
  t.is(Buffer.concat(await session.request({ ':path': '/' }).toArray()).length, 100_000);
});

// Before Node 24, such an upload hangs on any stream that is not a socket of Node's own, also without this package.
(major >= 24 ? test : test.skip)('HTTP/2: an upload without an end, which the server answers and destroys, ends at the client', async (t) => {
  const server = http2.createSecureServer({ allowHTTP1: true }, (request, response) => {
    for (const side of [request, response]) side.on('error', () => {});
    let bytes = 0;
    request.on('data', (data) => {
      bytes += data.length;
      if (bytes < 100_000 || response.writableEnded) return;
      response.end('enough');
      setImmediate(() => [request, response].map((side) => side.destroy()));
    });
  });
  server.on('sessionError', () => {});
  const { port } = await start(t, home, { http: server });
  for (let round = 0; round < 40; round++) {
    const session = http2.connect(`https://localhost:${port}`, { ca: authority });
    t.teardown(() => session.destroy());
    session.on('error', () => {});
    const stream = session.request({ ':method': 'POST' }).on('error', () => {}).resume();
    const closed = Promise.all([stream, session].map((side) => new Promise((resolve) => side.on('close', resolve))));
    stream.on('close', () => session.close());
    for (let part = 0; part < 160; part++) stream.write(Buffer.alloc(65_536));
    await closed;
  }
  t.pass();
});

/** What programs see of connections to an HTTP server with TLS, however they end. */
async function sights(t, server, onSecure, port) {
  const seen = [];
  onSecure((socket) => {
    socket.label = 'labelled';
    socket.setTimeout(40_000);
    // After the listeners of the HTTP server, which may be later ones.
    socket.on('close', (hadError) => setImmediate(() => seen.push(['close', hadError, socket.localAddress, socket.destroyed])));
    seen.push(['secure', socket._secureEstablished]);
    try {
      socket.setServername('a');
    } catch ({ code }) {
      seen.push(code);
    }
  });
  server.on('clientError', (error, socket) => {
    seen.push(['clientError', error.code]);
    socket.destroy();
  });
  server.on('request', (request, response) => {
    const { socket } = request;
    request.on('aborted', () => seen.push('aborted'));
    seen.push([request.url, socket.label, socket.timeout, socket.bytesRead]);
    if (request.url === '/reset') socket.destroy(new Error('destroyed'));
    else if (request.url === '/slow') response.write('slow');
    else response.end('done');
  });
  for (const path of ['/', '/slow', '/reset']) {
    const { closed, socket, until } = await connect(t, port());
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n${path === '/' ? CLOSE : ''}\r\n`);
    if (path === '/slow') {
      await until((text) => text.includes('slow'));
      // A FIN without close_notify, as most clients end.
      socket.destroy();
    }
    await closed;
    while (seen.filter(([kind]) => kind === 'close').length <= ['/', '/slow', '/reset'].indexOf(path)) await new Promise(setImmediate);
  }
  return seen;
}

test('the socket is one object, and tells what one of Node tells', async (t) => {
  const node = https.createServer(SECURE).listen(0, '127.0.0.1');
  t.teardown(() => node.close());
  await once(node, 'listening');
  const expected = await sights(t, node, (see) => node.on('secureConnection', see), () => node.address().port);
  const given = await start(t, () => {});
  t.deepEqual(await sights(t, given.http, (see) => given.wss.on('secureConnection', see), () => given.port), expected);
});

/** The events of a socket that HTTP leaves to the program, and that the program ends. */
async function farewells(t, server, port) {
  const seen = [];
  for (const event of ['connect', 'upgrade']) {
    server.on(event, (request, socket) => {
      seen.push([event, socket.listenerCount('error')]);
      socket.on('end', () => seen.push('end')).on('close', (hadError) => seen.push(['close', hadError]));
      socket.resume().end('HTTP/1.1 200 OK\r\n\r\n');
    });
  }
  for (const head of ['CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', 'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: a\r\n\r\n']) {
    for (const leave of ['end', 'cut', 'reset']) {
      const raw = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true });
      const { socket } = await connect(t, port, { socket: raw, allowHalfOpen: true });
      const count = seen.length;
      socket.write(head);
      await once(socket, 'end');
      if (leave === 'end') socket.end();
      else if (leave === 'cut') raw.end();
      else raw.resetAndDestroy();
      while (!seen.slice(count).some(([kind]) => kind === 'close')) await new Promise(setImmediate);
    }
  }
  return seen;
}

test('CONNECT and other upgrades: the end and a reset of a client are not more than in Node', async (t) => {
  const node = https.createServer(SECURE).listen(0, '127.0.0.1');
  t.teardown(() => node.close());
  await once(node, 'listening');
  const server = https.createServer(SECURE);
  const listener = listen(server, { port: 0, host: '127.0.0.1', tls: SECURE });
  t.teardown(() => listener.close());
  await once(listener, 'listening');
  t.deepEqual(await farewells(t, server, listener.address().port), await farewells(t, node, node.address().port));
});

test.serial('after a handler that throws, the connection is read on', async (t) => {
  const { port } = await start(t, (request, response) => {
    response.end('answered');
    throw new Error('thrown');
  });
  const { closed, socket, until } = await connect(t, port);
  const thrown = new Promise((resolve) => process.setUncaughtExceptionCaptureCallback(resolve));
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  t.is((await thrown).message, 'thrown');
  process.setUncaughtExceptionCaptureCallback(null);
  await until((text) => text.includes('answered'));
  // As in Node, whose parser has lost its place.
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  t.regex(await closed, /400 Bad Request/);
});

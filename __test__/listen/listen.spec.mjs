// listen(): every connection of a port goes to an HTTP server.
import { once } from 'node:events';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';

import test from 'ava';

import { WAYS, home, httpServer, lasting, listenGiven, talk } from '../helpers/handoff.mjs';
import { WebSocketServer, implementation, listen } from '../helpers/impl.mjs';
import { RawClient, upgradeRequest } from '../helpers/raw-client.mjs';

const REQUEST = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';

for (const way of Object.keys(WAYS)) {
  test(`${way}: requests and upgrades are the HTTP server's, and what is no HTTP too`, async (t) => {
    const server = httpServer(t, home);
    const { listener, port } = await listenGiven(t, way, server);
    t.deepEqual(listener.address(), { address: '127.0.0.1', family: 'IPv4', port });
    t.regex(await talk(t, port, REQUEST), /\r\nGET \/$/);
    t.regex(await talk(t, port, upgradeRequest(), (text) => text.endsWith('GET /')), /^HTTP\/1\.1 200 OK/);
    t.regex(await talk(t, port, 'nonsense\r\n\r\n'), /^HTTP\/1\.1 400 Bad Request/);
    server.on('upgrade', (request, socket) => socket.end('HTTP/1.1 418 \r\n\r\n'));
    server.on('connect', (request, socket) => socket.end(`HTTP/1.1 200 \r\n\r\n${request.url}`));
    server.on('clientError', (error, socket) => socket.end(error.code));
    t.is(await talk(t, port, upgradeRequest()), 'HTTP/1.1 418 \r\n\r\n');
    t.is(await talk(t, port, 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n'), 'HTTP/1.1 200 \r\n\r\na:1');
    t.is(await talk(t, port, 'nonsense\r\n\r\n'), 'HPE_INVALID_METHOD');
    t.true(listener.metrics().reactors.handedOff >= 6);
    t.is(server.listening, false);
  });

  test(`${way}: close() ends nothing that the HTTP server has`, async (t) => {
    const server = httpServer(t, (request, response) => response.write('begun'));
    const { listener, port } = await listenGiven(t, way, server);
    const answered = once(server, 'request');
    const text = talk(t, port, REQUEST);
    const [, response] = await answered;
    await listener[Symbol.asyncDispose]();
    t.is(listener.address(), null);
    const refused = net.connect(port, '127.0.0.1');
    t.is((await once(refused, 'error'))[0].code, 'ECONNREFUSED');
    response.end(' and done');
    t.true(lasting(await text).includes('begun'));
  });

  test(`${way}: bytesWritten counts bytes that wait, once`, async (t) => {
    const counts = [];
    const server = httpServer(t, (request, response) => {
      const { socket } = request;
      response.on('finish', () => counts.push(socket.bytesWritten));
      response.write('begun');
      counts.push(socket.bytesWritten);
      response.end('ü');
    });
    const { port } = await listenGiven(t, way, server);
    const text = await talk(t, port, REQUEST);
    t.true(counts[0] > 0);
    t.is(counts[1], text.length);
  });

  if (process.platform !== 'win32') {
    test(`${way}: on a socket of the file system`, async (t) => {
      const path = join(tmpdir(), `listen-${process.pid}-${way}.sock`);
      const { listener } = await listenGiven(t, way, httpServer(t, home), { port: path, host: undefined });
      t.is(listener.address(), path);
      const response = await new Promise((resolve) => http.get({ socketPath: path, path: '/local' }, resolve));
      t.is(Buffer.concat(await response.toArray()).toString(), 'GET /local');
    });
  }

  test(`${way}: a first byte that does not come ends the connection by handshakeTimeout`, async (t) => {
    const server = httpServer(t, home).on('connection', () => t.fail());
    const { port } = await listenGiven(t, way, server, { handshakeTimeout: 50 });
    t.is(await talk(t, port, []), '');
  });
}

test('listen(): events, and an error', async (t) => {
  const server = httpServer(t, home);
  const listener = listen(server, { port: 0, host: '127.0.0.1' }, () => calls++);
  let calls = 0;
  await once(listener, 'listening');
  t.is(calls, 1);
  const other = listen(httpServer(t), { port: listener.address().port, host: '127.0.0.1' });
  t.is((await once(other, 'error'))[0].code, 'EADDRINUSE');
  other.close();
  listener.close();
  await once(listener, 'close');
});

test('listen(): the option allowHalfOpen of the HTTP server', async (t) => {
  const makes = [[() => http.createServer(), true]];
  // See checkHttp().
  if (Number.parseInt(process.versions.node, 10) >= 22) makes.push([() => http2.createServer(), false], [() => http2.createServer({ allowHalfOpen: true }), true]);
  for (const [make, expected] of makes) {
    const server = make();
    const { port } = await listenGiven(t, 'socket', server);
    const connected = once(server, 'connection');
    const raw = await RawClient.connect(t, port);
    await raw.send('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    const [socket] = await connected;
    t.is(socket.allowHalfOpen, expected);
    socket.destroy();
  }
});

test('listen() is a static of WebSocket, too', (t) => {
  t.is(implementation.WebSocket.listen, listen);
});

test('listen(): bad input', (t) => {
  const server = http.createServer();
  const listening = http.createServer().listen(0);
  t.teardown(() => listening.close());
  for (const [args, expected] of [
    [[https.createServer(), { port: 0 }], /^server must not be an https\.Server without options\.tls/],
    [[undefined, { port: 0 }], /^server must be an http\.Server\. Received undefined$/],
    [[net.createServer(), { port: 0 }], /^server must be an http\.Server\. Received /],
    [[new WebSocketServer({ noServer: true }), { port: 0 }], /^server must be an http\.Server\. Received /],
    [[listening, { port: 0 }], /^server must not listen by itself: it gets connections of options\.port\. /],
    [[server], /^options\.port is missing: listen\(server, \{ port \}\)$/],
    [[server, {}], /^options\.port is missing: /],
    [[server, { port: 0, path: '/a' }], /^options\.path is not an option\. There are: /],
    [[server, { port: 0, maxPayload: 1 }], /^options\.maxPayload is not an option\. /],
    [[server, { port: 0, reactors: 'two' }], /^options\.reactors must be a number or 'auto'\. /],
  ]) {
    t.regex(t.throws(() => listen(...args), { instanceOf: TypeError }).message, expected);
  }
  t.throws(() => listen(server, { port: 70_000 }), { code: 'ERR_SOCKET_BAD_PORT' });
});

test('close() of the HTTP server answers the requests that have arrived', async (t) => {
  const server = httpServer(t, (request, response) => {
    response.on('close', () => server.close());
    // Node has read all by now.
    setImmediate(() => response.end(request.url));
  });
  const { port } = await listenGiven(t, 'socket', server);
  const raw = await RawClient.connect(t, port);
  raw.send('GET /one HTTP/1.1\r\nHost: a\r\n\r\n');
  // The reactor has read the first one when the second one comes.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  raw.send('GET /two HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  t.regex(await raw.closed(), /\/oneHTTP[\s\S]*\/two$/);
});

for (const way of Object.keys(WAYS)) {
  test(`${way}: in a worker, which ends with its connections`, async (t) => {
    const program = `
      const { handoff } = require('./lib/base/descriptors.js');
      handoff.asSockets = ${WAYS[way]};
      const { WebSocketServer } = require('./lib/index.js');
      const http = require('node:http').createServer((request, response) => response.end('from a worker'));
      const wss = new WebSocketServer({ port: 0, host: '127.0.0.1', http }, () => {
        require('node:worker_threads').parentPort.postMessage(wss.address().port);
        // As fake timers do.
        globalThis.queueMicrotask = () => {};
      });`;
    const root = fileURLToPath(new URL('../..', import.meta.url));
    const worker = new Worker(program.replaceAll(/'\.\/(.*?)'/g, (_, path) => JSON.stringify(root + path)), { eval: true });
    t.teardown(() => worker.terminate());
    const [port] = await once(worker, 'message');
    const raw = await RawClient.connect(t, port);
    await raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await raw.until((text) => text.endsWith('from a worker'));
    const upgraded = await RawClient.connect(t, port);
    await upgraded.send(`GET / HTTP/1.1\r\nHost: a\r\n\r\n${upgradeRequest()}`);
    await upgraded.until((text) => text.includes('101 Switching Protocols'));
    await worker.terminate();
    await Promise.all([raw.closed(), upgraded.closed()]);
    t.pass();
  });
}

test.serial('in Bun, option http and listen() throw', (t) => {
  const { versions } = process;
  t.teardown(() => Object.defineProperty(process, 'versions', { value: versions }));
  Object.defineProperty(process, 'versions', { configurable: true, value: { ...versions, bun: '1.4.5' } });
  const message = /^(server|options\.http) does not work in Bun: /;
  t.throws(() => listen(http.createServer(), { port: 0 }), { instanceOf: TypeError, message });
  t.throws(() => new WebSocketServer({ port: 0, http: http.createServer() }), { instanceOf: TypeError, message });
});

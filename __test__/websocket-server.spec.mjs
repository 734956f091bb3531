// The server: listening, connections, hooks, closing. Run with WS_IMPL=ws, the same holds for ws.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import { fileURLToPath } from 'node:url';

import test from 'ava';

import { WebSocket, connect, frame, frames, openPair, openRaw, urlOf, wsClient } from './helpers/clients.mjs';
import { WebSocketServer, isReference, startServer } from './helpers/impl.mjs';
import { OWN_HOST } from './helpers/own-host.mjs';
import { RawClient, upgradeRequest } from './helpers/raw-client.mjs';

const ownOnly = isReference ? test.skip : test;

test("'listening' comes later; address() has the port", async (t) => {
  let isCalled = false;
  const server = new WebSocketServer({ port: 0 }, () => {
    isCalled = true;
  });
  t.teardown(() => server.close());
  t.false(isCalled);
  await once(server, 'listening');
  t.true(isCalled);
  const { address, family, port } = server.address();
  t.is(typeof address, 'string');
  t.regex(family, /^IPv[46]$/);
  t.true(port > 0);
});

test('a hostname is looked up', async (t) => {
  const server = new WebSocketServer({ port: 0, host: 'localhost' });
  t.teardown(() => server.close());
  t.is(server.address(), null);
  await once(server, 'listening');
  t.true(['127.0.0.1', '::1'].includes(server.address().address));
});

// J17.
test('a port that is in use: the error of Node, later', async (t) => {
  const first = await startServer(t);
  const { port } = first.address();
  const second = new WebSocketServer({ port, host: '127.0.0.1' });
  const [error] = await once(second, 'error');
  t.is(error.message, `listen EADDRINUSE: address already in use 127.0.0.1:${port}`);
  t.like(error, { code: 'EADDRINUSE', syscall: 'listen', address: '127.0.0.1', port });
  t.is(typeof error.errno, 'number');
});

test("'connection' comes with the request", async (t) => {
  const { server, ws, request } = await openPair(t, {}, { path: '/a?b=c', headers: { 'X-One': '1', Cookie: 'a=b' } });
  t.true(request instanceof http.IncomingMessage);
  t.is(request.url, '/a?b=c');
  t.is(request.method, 'GET');
  t.is(request.httpVersion, '1.1');
  t.deepEqual([request.httpVersionMajor, request.httpVersionMinor], [1, 1]);
  t.is(request.headers['x-one'], '1');
  t.is(request.headers.cookie, 'a=b');
  t.deepEqual(request.headersDistinct['x-one'], ['1']);
  t.is(request.rawHeaders[request.rawHeaders.indexOf('X-One') + 1], '1');
  t.is(request.rawHeaders.length % 2, 0);
  t.is(request.connection, request.socket);
  t.is(request.socket.localPort, server.address().port);
  t.true(server.clients.has(ws));
});

// J07.
test('clients: gone before the close event is seen; undefined without clientTracking', async (t) => {
  const { server, ws, client } = await openPair(t);
  t.is(server.clients.size, 1);
  const sizes = new Promise((resolve) => {
    ws.on('close', () => resolve(server.clients.size));
  });
  client.close();
  t.is(await sizes, 0);
  const untracked = new WebSocketServer({ port: 0, host: '127.0.0.1', clientTracking: false });
  await once(untracked, 'listening');
  t.is(untracked.clients, undefined);
  const { client: other } = await connect(t, untracked);
  const closed = once(untracked, 'close');
  untracked.close();
  other.terminate();
  await closed;
});

test('clients: in the order in which they opened, whoever looks first and when', async (t) => {
  const server = await startServer(t);
  const [first, second, third] = [await connect(t, server), await connect(t, server), await connect(t, server)];
  const closed = once(second.ws, 'close');
  second.client.close();
  await closed;
  // Where the slots of connections are used again, the fourth is in the place of the second.
  const fourth = await connect(t, server);
  t.deepEqual([...server.clients], [first.ws, third.ws, fourth.ws]);
  const fifth = await connect(t, server);
  t.is([...server.clients].at(-1), fifth.ws);
  t.is(server.clients, server.clients);
  server.clients = new Set();
  const { ws } = await connect(t, server);
  t.deepEqual([...server.clients], [ws]);
});

test('clients: of each server its own', async (t) => {
  const [one, two] = [await startServer(t), await startServer(t)];
  const [a, b] = [await connect(t, one), await connect(t, two)];
  t.deepEqual([...one.clients], [a.ws]);
  t.deepEqual([...two.clients], [b.ws]);
});

test('clients: one whose socket is gone stays until its messages have been delivered', async (t) => {
  const { server, ws, raw } = await openRaw(t, { allowSynchronousEvents: false });
  const count = 200;
  const seen = new Promise((resolve) => {
    ws.on('message', (data) => String(data) === String(count) && resolve([...server.clients]));
  });
  const closed = once(ws, 'close');
  await raw.send(Buffer.concat(Array.from({ length: count }, (_, index) => frame(1, String(index + 1)))));
  raw.end();
  t.deepEqual(await seen, [ws]);
  await closed;
  t.is(server.clients.size, 0);
});

test('close: waits for the clients, and reports once', async (t) => {
  const { server, ws, client } = await openPair(t);
  const calls = [];
  server.on('close', () => calls.push('event'));
  const closed = new Promise((resolve) => {
    server.close((...args) => {
      calls.push('first');
      t.deepEqual(args, []);
    });
    server.close(() => {
      calls.push('second');
      resolve();
    });
  });
  t.is(server.address(), null);
  t.deepEqual(calls, []);
  t.is(ws.readyState, WebSocket.OPEN);
  client.close();
  await closed;
  t.deepEqual(calls, ['event', 'first', 'second']);
  const error = await new Promise((resolve) => {
    server.close(resolve);
  });
  t.is(error.message, 'The server is not running');
});

test('close: nobody can connect afterwards', async (t) => {
  const server = await startServer(t, { host: OWN_HOST });
  const url = urlOf(server);
  await new Promise((resolve) => {
    server.close(resolve);
  });
  const client = new wsClient(url);
  const [error] = await once(client, 'error');
  t.is(error.code, 'ECONNREFUSED');
});

test('close: in the turn of its making', async (t) => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  server.on('listening', () => t.fail());
  const closed = once(server, 'close');
  server.close();
  await closed;
  t.pass();
});

test("'headers': sees and changes the lines, also when added later", async (t) => {
  const server = await startServer(t);
  await connect(t, server);
  const onHeaders = (lines, request) => {
    t.is(lines[0], 'HTTP/1.1 101 Switching Protocols');
    t.is(request.url, '/');
    lines.push('X-Own: 1');
  };
  server.on('headers', onHeaders);
  const client = new wsClient(urlOf(server));
  const [response] = await once(client, 'upgrade');
  t.is(response.headers['x-own'], '1');
  client.terminate();
  server.off('headers', onHeaders);
  const plain = new wsClient(urlOf(server));
  t.is((await once(plain, 'upgrade'))[0].headers['x-own'], undefined);
  plain.terminate();
});

test('shouldHandle: overridden, assigned, and the path assigned', async (t) => {
  class Own extends WebSocketServer {
    shouldHandle(request) {
      return request.url !== '/no' && super.shouldHandle(request);
    }
  }
  const refusal = async (server, path) => {
    const client = new wsClient(urlOf(server) + path);
    const [error] = await once(client, 'error');
    return error.message;
  };
  const own = new Own({ port: 0, host: '127.0.0.1', path: '/yes' });
  t.teardown(() => own.close());
  await once(own, 'listening');
  const { client } = await connect(t, own, { path: '/yes?a' });
  client.terminate();
  t.is(await refusal(own, '/no'), 'Unexpected server response: 400');
  t.is(await refusal(own, '/other'), 'Unexpected server response: 400');
  const server = await startServer(t);
  server.shouldHandle = ({ url }) => url === '/a';
  await connect(t, server, { path: '/a' });
  t.is(await refusal(server, '/b'), 'Unexpected server response: 400');
  const withPath = await startServer(t, { path: '/a' });
  await connect(t, withPath, { path: '/a' });
  withPath.options.path = '/b';
  await connect(t, withPath, { path: '/b?c' });
  t.is(await refusal(withPath, '/a'), 'Unexpected server response: 400');
});

test("'wsClientError': takes the answer over, for as long as somebody listens", async (t) => {
  const server = await startServer(t);
  const post = async () => {
    const raw = await RawClient.connect(t, server.address().port);
    raw.send(upgradeRequest({ line: 'POST /x HTTP/1.1' }));
    return raw.closed();
  };
  const listener = (error, socket, request) => {
    t.true(error instanceof Error);
    t.is(error.message, 'Invalid HTTP method');
    t.is(request.url, '/x');
    t.is(socket.remoteAddress, '127.0.0.1');
    socket.end('HTTP/1.1 418 Teapot\r\n\r\n');
  };
  server.on('wsClientError', listener);
  t.is(await post(), 'HTTP/1.1 418 Teapot\r\n\r\n');
  server.removeListener('wsClientError', listener);
  t.regex(await post(), /^HTTP\/1\.1 405 Method Not Allowed\r\n.*Invalid HTTP method$/s);
});

// H19.
test('a client that leaves while verifyClient decides is not shown', async (t) => {
  let decide;
  const asked = new Promise((resolve) => {
    decide = resolve;
  });
  const server = await startServer(t, { verifyClient: (info, done) => decide({ info, done }) });
  server.on('connection', () => t.fail());
  const raw = await RawClient.connect(t, server.address().port);
  raw.send(upgradeRequest());
  const { info, done } = await asked;
  const gone = once(info.req.socket, 'close');
  info.req.socket.destroy();
  await gone;
  done(true);
  t.is(await raw.closed(), '');
});

/** Runs a script with the implementation under test; resolves with its output and exit status. */
async function run(source) {
  const from = isReference ? 'ws' : fileURLToPath(new URL('../lib/index.js', import.meta.url));
  const child = spawn(process.execPath, ['-e', `const { WebSocketServer } = require(${JSON.stringify(from)});${source}`]);
  const output = [];
  child.stdout.on('data', (chunk) => output.push(chunk));
  child.stderr.on('data', (chunk) => output.push(chunk));
  const [code] = await once(child, 'close');
  return { code, output: Buffer.concat(output).toString() };
}

// H20.
ownOnly('a line break in a header line is refused, and an uncaught error', async (t) => {
  const { code, output } = await run(`
    process.on('uncaughtException', (error) => console.log(error.name));
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' }, () => {
      const socket = require('node:net').connect(server.address().port, '127.0.0.1');
      socket.write(${JSON.stringify(upgradeRequest())});
      socket.on('data', (data) => console.log(String(data).split('\\r\\n')[0], String(data).includes('Injected')));
      socket.on('close', () => server.close());
    });
    server.on('headers', (lines) => lines.push('X-A: b\\r\\nX-Injected: c'));
  `);
  t.deepEqual({ code, output }, { code: 0, output: 'TypeError\nHTTP/1.1 500 Internal Server Error false\n' });
});

// P01.
test('a listening server keeps the process alive, a closed one does not', async (t) => {
  const { code, output } = await run(`
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    setTimeout(() => server.close(() => console.log('closed')), 50).unref();
  `);
  t.deepEqual({ code, output }, { code: 0, output: 'closed\n' });
});

test('works in a worker', async (t) => {
  const from = isReference ? 'ws' : fileURLToPath(new URL('../lib/index.js', import.meta.url));
  const { Worker } = await import('node:worker_threads');
  const worker = new Worker(
    `const { WebSocketServer } = require(${JSON.stringify(from)});
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' }, () => {
      require('node:worker_threads').parentPort.postMessage(server.address().port);
    });
    server.on('connection', (ws) => {
      ws.on('message', (data) => ws.send(data));
      ws.on('close', () => server.close());
    });`,
    { eval: true },
  );
  const [port] = await once(worker, 'message');
  const client = new wsClient(`ws://127.0.0.1:${port}`);
  await once(client, 'open');
  client.send('x');
  t.is(String((await once(client, 'message'))[0]), 'x');
  const exit = once(worker, 'exit');
  client.close();
  t.deepEqual(await exit, [0]);
});

// J17.
test('two servers are independent', async (t) => {
  const [one, two] = [await openRaw(t), await openRaw(t)];
  one.ws.send('1');
  two.ws.send('2');
  t.is(await frames(one.raw, 3), '810131');
  t.is(await frames(two.raw, 3), '810132');
});

// J19.
(process.platform === 'linux' ? test : test.skip)('a process that is started inherits no socket', async (t) => {
  await openPair(t);
  const list = execFileSync('ls', ['-l', '/proc/self/fd'], { stdio: ['ignore', 'pipe', 'ignore'], encoding: 'utf8' });
  t.deepEqual(list.split('\n').filter((line) => / ([3-9]|\d\d+) -> (socket|anon_inode)/.test(line)), []);
});

ownOnly('a server that has topics and drains can be printed as JSON', async (t) => {
  const server = await startServer(t);
  const client = new wsClient(urlOf(server));
  t.teardown(() => client.terminate());
  const [ws] = await once(server, 'connection');
  ws.subscribe('topic');
  server.publish('topic', 'message');
  const over = server.drain({ duration: 20 });
  for (const one of [server, server._server, ws, ws._socket]) t.notThrows(() => JSON.stringify(one));
  await over;
  t.notThrows(() => JSON.stringify(server));
});

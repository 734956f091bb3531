// The values of `port`, and the stand-in for the server of ws. Each case runs on `ws`, too.
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect as connectTo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';

import { WebSocketServer, isReference, onPosix, startServer, test, visitor, wsClient } from './helpers/index.mjs';

const Reference = createRequire(import.meta.url)('ws').WebSocketServer;

let pipes = 0;

/** The outcome of a server with this port, in words without the number that the system chose. */
async function outcome(Server, port) {
  let server;
  try {
    server = new Server({ port, host: '127.0.0.1' });
  } catch (error) {
    return `${error.constructor.name} ${error.code}: ${error.message}`;
  }
  server.on('connection', (ws) => ws.on('message', (data) => ws.send(data)));
  const failure = await once(server, 'listening').then(() => null, (error) => error);
  // Without IPv6, for example.
  if (failure !== null) return `fails: ${failure.code}`;
  const address = server.address();
  const where = typeof address === 'string' ? `ws+unix:${address}:/` : `ws://${hostOf(address)}:${address.port}`;
  const client = new wsClient(where);
  await once(client, 'open');
  client.send('hello');
  const [echo] = await once(client, 'message');
  client.terminate();
  server.close();
  await once(server, 'close');
  return `listens at ${typeof address === 'string' ? 'a pipe' : `${address.address} ${address.family}`}: ${echo}`;
}

function hostOf({ address, family }) {
  return family === 'IPv6' ? '[::1]' : address;
}

const pipe = () => join(tmpdir(), `reactor-ws-${process.pid}-${pipes++}.sock`);

for (const [name, port] of [
  ['a number', () => 0],
  ['a number as text', () => '0'],
  ['{ port, host }', () => ({ port: 0, host: '127.0.0.1' })],
  ['{ port } as text, with what is undefined', () => ({ port: '0', path: undefined, fd: undefined })],
  ['{ port, host, backlog, ipv6Only }', () => ({ port: 0, host: '::1', backlog: 1, ipv6Only: true })],
  ['{ port: null }', () => ({ port: null })],
  ['{ port: undefined }', () => ({ port: undefined })],
  ['{ path }', () => ({ path: pipe() })],
  ['a path', () => pipe()],
  ['an empty object', () => ({})],
  ['a descriptor that is none', () => ({ fd: -1 })],
  ['an array', () => [1]],
  ['a port beyond the last', () => 65_536],
  ['the same as text', () => '65536'],
  ['the same in an object', () => ({ port: 65_536 })],
  ['no number', () => NaN],
  ['a fraction', () => 0.5],
  ['empty text', () => ''],
  ['a long number', () => '9'.repeat(40)],
  ['true', () => true],
  ['a symbol', () => Symbol('port')],
]) {
  const run = name.includes('path') ? onPosix : test;
  run(`port: ${name}, as in ws`, async (t) => {
    t.is(await outcome(WebSocketServer, port()), await outcome(Reference, port()));
  });
}

test('port: an object with a port is served by the reactor', async (t) => {
  if (isReference) return t.pass();
  const server = await startServer(t, { port: { port: 0, host: '127.0.0.1' }, host: 'not.looked.up.invalid' });
  t.is(server._server.constructor.name, 'ListenerServer');
});

onPosix('port: { path, mode }: whoever may write to the file may connect', async (t) => {
  if (isReference) return t.pass();
  for (const mode of [0, 0o600, 0o660, 0o666, 0o777]) {
    const path = pipe();
    const server = await startServer(t, { port: { path, mode } });
    t.is(statSync(path).mode & 0o7777, mode);
    server.close();
    await once(server, 'close');
    t.false(existsSync(path));
  }
  const made = [];
  for (const port of [pipe(), { path: pipe(), mode: undefined }, { path: pipe(), mode: null }]) {
    const server = await startServer(t, { port });
    made.push(statSync(server.address()).mode & 0o7777);
  }
  t.deepEqual(made, Array(3).fill(0o777 & ~process.umask()));
});

onPosix('port: a mode that is none, or that nothing would set, throws', (t) => {
  if (isReference) return t.pass();
  for (const [port, instanceOf] of [
    [{ path: pipe(), mode: '660' }, TypeError],
    [{ path: pipe(), mode: -1 }, RangeError],
    [{ path: pipe(), mode: 0o1000 }, RangeError],
    [{ path: pipe(), mode: 0o660 + 0.5 }, RangeError],
    [{ port: 0, mode: 0o660 }, TypeError],
    [{ fd: 3, path: pipe(), mode: 0o660 }, TypeError],
    [{ path: pipe(), readableAll: true, mode: 0o660 }, TypeError],
    [{ path: `\0${pipe()}`, mode: 0o660 }, TypeError],
  ]) {
    const { message } = t.throws(() => new WebSocketServer({ port }), { instanceOf });
    t.true(message.startsWith('options.port.mode '), message);
  }
});

test('port: an error asks no server, which would go on listening', (t) => {
  const servers = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPServerWrap').length;
  const before = servers();
  for (const port of [65_536, -1, NaN, '', true, { port: -1 }, {}]) {
    t.throws(() => new WebSocketServer({ port, host: '127.0.0.1' }));
  }
  t.is(servers(), before);
});

test('server: what has no events is a TypeError', (t) => {
  for (const server of ['x', 1, true, {}, () => {}]) {
    t.throws(() => new WebSocketServer({ server }), {
      instanceOf: TypeError,
      message: isReference ? /on is not a function/ : /^options\.server must be an HTTP server\. Received /,
    });
  }
});

test('_server.maxConnections and getConnections()', async (t) => {
  const server = await startServer(t);
  const open = () => {
    const client = visitor(t, `ws://127.0.0.1:${server.address().port}`);
    return client;
  };
  const count = () => new Promise((done) => server._server.getConnections((error, value) => done([error, value])));
  t.deepEqual(await count(), [null, 0]);
  server._server.maxConnections = 1;
  t.is(server._server.maxConnections, 1);
  const first = open();
  await once(first, 'open');
  t.deepEqual(await count(), [null, 1]);
  const dropped = once(server._server, 'drop');
  const [error] = await once(open(), 'error');
  t.is(error.message, 'socket hang up');
  const [{ localPort, remoteFamily }] = await dropped;
  t.is(localPort, server.address().port);
  t.is(remoteFamily, 'IPv4');
  t.is(server.clients.size, 1);
  server._server.maxConnections = undefined;
  await once(open(), 'open');
  t.deepEqual(await count(), [null, 2]);
});

const BUSY = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { WebSocketServer } = require(workerData.path);
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, reactors: 0 }, () => {
    parentPort.postMessage(server.address().port);
    Atomics.wait(workerData.flag, 0, 0);
  });
`;

const systemAllows = (count) => process.platform === 'linux' && Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8')) >= count;

(systemAllows(2000) ? test : test.skip)('two thousand may wait to be accepted', async (t) => {
  const flag = new Int32Array(new SharedArrayBuffer(4));
  const path = createRequire(import.meta.url).resolve('../lib/index.js');
  const worker = new Worker(BUSY, { eval: true, workerData: { flag, path } });
  const [port] = await once(worker, 'message');
  const sockets = Array.from({ length: 2000 }, () => connectTo(port, '127.0.0.1').on('error', () => {}));
  t.teardown(async () => {
    Atomics.store(flag, 0, 1);
    Atomics.notify(flag, 0);
    for (const socket of sockets) socket.destroy();
    await worker.terminate();
  });
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  t.pass();
});

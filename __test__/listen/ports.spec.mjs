// Options of `port`, and the stand-in for the server of ws. Its values: differential/scenarios/listening.mjs.
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect as connectTo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';

import { WebSocketServer, isReference, onPosix, ownOnLinux, startServer, test, visitor } from '../helpers/index.mjs';

let pipes = 0;

const pipe = () => join(tmpdir(), `reactor-ws-${process.pid}-${pipes++}.sock`);

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

const ofProcess = (/** @type {string} */ file, /** @type {RegExp} */ line) => Number(line.exec(readFileSync(`/proc/self/${file}`, 'latin1'))?.[1]);

ownOnLinux('the table of descriptors is long before connections come', async (t) => {
  const limit = ofProcess('limits', /^Max open files +(\d+)/m);
  await startServer(t);
  const length = [16_384, 4096, 1024, 0].find((count) => count <= limit);
  while (ofProcess('status', /^FDSize:\s+(\d+)/m) < length) await sleep(5);
  t.pass();
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
  const path = createRequire(import.meta.url).resolve('../../lib/index.js');
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

// Where a server listens: sockets of files and of other processes, options of TCP, their end.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { openVisitor, visitor, wsClient } from '../helpers/clients.mjs';
import { OWN_HOST, WebSocketServer, cert, isReference, key, listen as listenOn, onPosix, ownOnLinux, ownOnPosix, startServer, test } from '../helpers/index.mjs';

const { platform } = process;

function folder(t) {
  const path = mkdtempSync(join(tmpdir(), 'reactor-ws-'));
  t.teardown(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

async function listen(t, options) {
  const server = new WebSocketServer(options);
  t.teardown(() => {
    for (const client of server.clients) client.terminate();
    server.close();
  });
  await once(server, 'listening');
  return server;
}

/** A client of a socket in the file system, open. */
async function visit(t, path, options) {
  const client = await openVisitor(t, `ws+unix:${path}:/chat?a=b`, options);
  return client;
}

for (const perMessageDeflate of [false, true]) {
  onPosix(`a socket of the file system: messages of every size, compressed: ${perMessageDeflate}`, async (t) => {
    const path = join(folder(t), 'x.sock');
    const server = await listen(t, { port: { path }, perMessageDeflate, path: '/chat' });
    if (!isReference) t.is(server._server.constructor.name, 'ListenerServer');
    server.on('connection', (ws) => ws.on('message', (data, isBinary) => ws.send(data, { binary: isBinary })));
    const client = await visit(t, path, { perMessageDeflate });
    for (const size of [0, 1, 125, 126, 65_535, 65_536, 200_000, 3_000_000]) {
      const sent = Buffer.alloc(size, `${size},`);
      client.send(sent);
      const [data] = await once(client, 'message');
      t.true(data.equals(sent), `${size}`);
    }
    client.ping('p');
    t.is(String((await once(client, 'pong'))[0]), 'p');
    client.close(4000, 'bye');
    t.is((await once(client, 'close'))[0], 4000);
    const refused = new wsClient(`ws+unix:${path}:/other`);
    t.regex((await once(refused, 'error'))[0].message, /400/);
  });
}

onPosix('a socket of the file system is removed before "close", unless another one is there by then', async (t) => {
  const path = join(folder(t), 'x.sock');
  const first = await listen(t, { port: path });
  t.true(existsSync(path));
  first.close();
  await once(first, 'close');
  t.false(existsSync(path));
  if (isReference) return;
  const second = await listen(t, { port: path });
  // The steps of a process that replaces another one without a moment in which no process listens.
  const third = await listen(t, { port: `${path}.new` });
  renameSync(`${path}.new`, path);
  second.close();
  await once(second, 'close');
  t.true(existsSync(path));
  third.close();
  await once(third, 'close');
  // The socket is under its new name, not under the one that it was bound to.
  t.true(existsSync(path));
});

ownOnPosix('a path of nothing', (t) => {
  t.throws(() => new WebSocketServer({ port: '' }), { code: 'ERR_SOCKET_BAD_PORT' });
});

ownOnLinux("Linux's names that are in no file system", async (t) => {
  const name = `\0reactor-ws-${process.pid}`;
  const server = await listen(t, { port: name });
  server.on('connection', (ws) => ws.send('hello'));
  t.is(server.address(), name);
  // Node says how long such a name is.
  t.not(server._server.constructor.name, 'ListenerServer');
  const client = visitor(t, 'ws://localhost', { createConnection: () => net.connect({ path: name }) });
  t.is(String((await once(client, 'message'))[0]), 'hello');
});

ownOnPosix('a socket of the file system: limits of addresses do not apply, that of all does', async (t) => {
  const path = join(folder(t), 'x.sock');
  await listen(t, { port: path, maxConnectionsPerAddress: 1, maxConnections: 3 });
  for (let i = 0; i < 3; i++) await visit(t, path);
  const late = new wsClient(`ws+unix:${path}:/`);
  t.regex((await once(late, 'error'))[0].message, /503/);
});

ownOnPosix('what needs a TCP port throws without one', (t) => {
  for (const port of ['/tmp/never.sock', { path: '/tmp/never.sock' }]) {
    t.throws(() => new WebSocketServer({ port, reusePort: true }), {
      instanceOf: TypeError,
      message: 'options.reusePort must be false without a TCP port. Received true',
    });
    t.throws(() => new WebSocketServer({ port, proxyProtocol: { trusted: ['::1'] } }), { instanceOf: TypeError });
  }
  t.throws(() => new WebSocketServer({ noServer: true, reusePort: true }), { instanceOf: TypeError });
  t.false(existsSync('/tmp/never.sock'));
});

test('wrong values are named', (t) => {
  if (isReference) return t.pass();
  for (const [name, value, instanceOf, wanted] of [
    ['reusePort', 1, TypeError, 'a boolean'],
    ['noDelay', 'yes', TypeError, 'a boolean'],
    ['keepAlive', {}, TypeError, 'a boolean'],
    ['keepAliveInitialDelay', '5', TypeError, 'a number'],
    ['keepAliveInitialDelay', -1, RangeError, 'an integer from 0 to 32767000'],
    ['keepAliveInitialDelay', 32_767_001, RangeError, 'an integer from 0 to 32767000'],
    ['keepAliveInitialDelay', 0.5, RangeError, 'an integer from 0 to 32767000'],
  ]) {
    const error = t.throws(() => new WebSocketServer({ port: 0, [name]: value }), { instanceOf });
    t.true(error.message.startsWith(`options.${name} must be ${wanted}. Received `), error.message);
  }
});

ownOnLinux('reusePort: servers that all say so share a port, others do not', async (t) => {
  const first = await listen(t, { port: 0, host: OWN_HOST, reusePort: true });
  const { port } = first.address();
  const second = await listen(t, { port: { port, host: OWN_HOST, reusePort: true } });
  const other = new WebSocketServer({ port, host: OWN_HOST });
  t.is((await once(other, 'error'))[0].code, 'EADDRINUSE');
  // The system chooses by the ports of the clients.
  for (let tried = 0; first.clients.size === 0 || second.clients.size === 0; tried++) {
    t.true(tried < 200, 'all went to one');
    await openVisitor(t, `ws://${OWN_HOST}:${port}`);
  }
});

const sharesPorts = platform === 'linux' || platform === 'freebsd' || isReference;
(sharesPorts ? test.skip : test)('reusePort: elsewhere listening fails', async (t) => {
  const server = new WebSocketServer({ port: 0, reusePort: true });
  t.like((await once(server, 'error'))[0], { code: 'ENOTSUP', message: 'listen ENOTSUP: operation not supported on socket ::' });
});

/** Whether the timer of a connection's server end is that of keep-alive: the kernel says so. */
function isProbed(serverPort, clientPort) {
  const hex = (port) => port.toString(16).toUpperCase().padStart(4, '0');
  const lines = readFileSync('/proc/net/tcp', 'latin1').split('\n').map((line) => line.trim().split(/\s+/));
  const line = lines.find(([, local = '', remote = '']) => local.endsWith(`:${hex(serverPort)}`) && remote.endsWith(`:${hex(clientPort)}`));
  const [timer, ticks] = line[5].split(':');
  return timer === '02' ? parseInt(ticks, 16) / 100 : null;
}

ownOnLinux('keepAlive: the system probes silent connections after the delay', async (t) => {
  for (const [options, least, most] of [
    [{}, null, null],
    [{ keepAlive: true }, 7000, 7200],
    [{ keepAlive: true, keepAliveInitialDelay: 599_001 }, 500, 600],
    [{ keepAliveInitialDelay: 1000 }, null, null],
  ]) {
    const server = await startServer(t, options);
    const { port } = server.address();
    const client = await openVisitor(t, `ws://127.0.0.1:${port}`);
    // While bytes are under way the timer is another one.
    client.ping();
    await once(client, 'pong');
    let seconds = isProbed(port, client._socket.localPort);
    for (let tries = 0; tries < 200 && least !== null && seconds === null; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      seconds = isProbed(port, client._socket.localPort);
    }
    const name = JSON.stringify(options);
    if (least === null) t.is(seconds, null, name);
    else t.true(seconds > least && seconds <= most, `${name}: ${seconds}`);
  }
});

/** A program that is given listening sockets from descriptor 3 on. */
function startGiven(t, handles, program) {
  const stdio = ['pipe', 'pipe', 'inherit', ...handles.map((server) => server._handle.fd)];
  const child = spawn(process.execPath, ['-e', program], { cwd: fileURLToPath(new URL('../..', import.meta.url)), stdio });
  t.teardown(() => child.exitCode === null && child.kill('SIGKILL'));
  return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
}

ownOnPosix('sockets of another process: served by the reactor, and closed with the server', async (t) => {
  const path = join(folder(t), 'x.sock');
  const tcp = net.createServer().listen(0, OWN_HOST);
  const unix = net.createServer().listen(path);
  await Promise.all([once(tcp, 'listening'), once(unix, 'listening')]);
  const { port } = tcp.address();
  const { lines, child } = startGiven(t, [tcp, unix], `
    const { WebSocketServer } = require('./lib/index.js');
    const servers = [3, 4].map((fd) => new WebSocketServer({ port: { fd } }));
    let count = 0;
    for (const server of servers) {
      server.on('listening', () => {
        if (++count === 2) console.log(JSON.stringify(servers.map((one) => [one._server.constructor.name, one.address()])));
      });
      server.on('connection', (ws, request) => ws.on('message', (data) => ws.send(request.socket.remoteAddress + ': ' + data)));
    }
    process.stdin.once('data', () => {
      for (const server of servers) for (const client of server.clients) client.terminate();
      let closed = 0;
      for (const server of servers) server.close(() => ++closed === 2 && console.log('closed'));
    });`);
  const said = JSON.parse((await lines.next()).value);
  t.deepEqual(said, [['ListenerServer', { address: OWN_HOST, family: 'IPv4', port }], ['ListenerServer', path]]);
  // The child has duplicates. A net.Server would remove the file.
  tcp.close();
  unix._handle.close();
  const first = await openVisitor(t, `ws://${OWN_HOST}:${port}`);
  first.send('hello');
  t.regex(String((await once(first, 'message'))[0]), /^127\.\d+\.\d+\.\d+: hello$/);
  if (existsSync(path)) {
    const second = await visit(t, path);
    second.send('hello');
    t.is(String((await once(second, 'message'))[0]), 'undefined: hello');
  }
  child.stdin.write('\n');
  t.is((await lines.next()).value, 'closed');
  const refused = net.connect(port, OWN_HOST);
  t.is((await once(refused, 'error'))[0].code, 'ECONNREFUSED');
});

const WAYS = {
  port: (place) => new WebSocketServer({ host: OWN_HOST, port: place }),
  tls: (place) => new WebSocketServer({ host: OWN_HOST, port: place, tls: { key, cert } }),
  http: (place) => new WebSocketServer({ host: OWN_HOST, port: place, http: http.createServer() }),
  'listen()': (place) => listenOn(http.createServer(), { host: OWN_HOST, port: place }),
};

/** What becomes of a client of the same tick. */
async function reaches(place) {
  const client = net.connect(typeof place === 'string' ? { path: place } : { host: OWN_HOST, port: place });
  const result = await once(client, 'connect').then(() => 'connected', ({ code }) => code);
  client.destroy();
  return result;
}

for (const [name, start] of Object.entries(WAYS)) {
  (name === 'port' ? test : ownOnPosix)(`${name}: when close() returns, nothing listens, and its place is free`, async (t) => {
    const path = join(folder(t), 'x.sock');
    for (const place of platform === 'win32' ? [0] : [0, path]) {
      for (let round = 0; round < 20; round++) {
        const first = start(place);
        await once(first, 'listening');
        const same = typeof place === 'string' ? place : first.address().port;
        first.close();
        t.false(existsSync(path));
        t.regex(await reaches(same), /^(ECONNREFUSED|ENOENT)$/);
        const second = start(same);
        // Before it listens.
        second.close();
        const third = start(same);
        await once(third, 'listening');
        third.close();
        const other = net.createServer().listen(...(typeof same === 'string' ? [same] : [same, OWN_HOST]));
        await once(other, 'listening');
        await new Promise((resolve) => other.close(resolve));
      }
    }
  });
}

ownOnLinux('an address with a zone, which only Node knows', async (t) => {
  const server = await listen(t, { port: 0, host: '::1%lo' });
  t.is(server.address().address, '::1');
});

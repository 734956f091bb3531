// reactor-ws/register-listen: `listen()` of servers that know nothing of this package.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import { createRequire } from 'node:module';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';

import test from 'ava';

import { cert, key, otherCert, otherKey } from '../helpers/certificate.mjs';
import { WebSocket, WebSocketServer } from '../../lib/index.mjs';

// Node's own, before the next line replaces them.
const { listen } = net.Server.prototype;
createRequire(import.meta.url)('../../lib/register-listen.js');

// On Windows sockets of Node stay Node's: there is no port of the reactors to compare.
const own = process.platform === 'win32' ? test.skip : test;
const KINDS = {
  http: { make: (app) => http.createServer(app), get: http.get, scheme: 'ws' },
  https: { make: (app) => https.createServer({ cert, key, noDelay: true }, app), get: https.get, scheme: 'wss' },
};

/** Whether a reactor listens: the handle of Node is a TCP. */
const isReactors = (server) => server._handle !== null && !('listen' in server._handle);

async function end(server) {
  server.closeAllConnections();
  if (server.listening) await once(server.close(), 'close');
}

async function ask(get, server, path = '/') {
  const { address, port } = server.address();
  const [response] = await once(get({ host: address, port, path, agent: false, rejectUnauthorized: false }), 'response');
  return { text: Buffer.concat(await response.toArray()).toString(), certificate: response.socket.getPeerCertificate?.().raw };
}

for (const [kind, { get, make, scheme }] of Object.entries(KINDS)) {
  for (const [name, ...args] of [['port', 0], ['port, host', 0, '127.0.0.1'], ['port, host, backlog', '0', '127.0.0.1', 10], ['options', { port: 0, host: 'localhost', exclusive: true }], ['nothing']]) {
    test(`${kind}: listen(${name}) is a reactor's, and answers`, async (t) => {
      const events = [];
      const server = make((_, response) => response.end('page')).on('listening', () => events.push('listening'));
      t.teardown(() => end(server));
      t.is(server.listen(...args, () => events.push('callback')), server);
      await once(server, 'listening');
      t.deepEqual(events, ['listening', 'callback']);
      t.true(isReactors(server));
      t.true(server.listening);
      t.is((await ask(get, server)).text, 'page');
      t.throws(() => server.listen(0), { code: 'ERR_SERVER_ALREADY_LISTEN' });
    });
  }

  test(`${kind}: close() ends the listening at once, waits for requests, and it can listen again`, async (t) => {
    const { promise, resolve: answer } = withResolvers();
    const server = make((request, response) => promise.then(() => response.end('late')));
    t.teardown(() => end(server));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address();
    const asked = once(server, 'request');
    const late = ask(get, server);
    await asked;
    t.is(await new Promise((resolve) => server.getConnections((_, count) => resolve(count))), 1);
    let isClosed = false;
    const closed = once(server.close(() => (isClosed = true)), 'close');
    t.like(server, { listening: false, _handle: null });
    t.is(server.address(), null);
    await t.throwsAsync(once(net.connect(port, '127.0.0.1'), 'connect'), { code: 'ECONNREFUSED' });
    t.false(isClosed);
    answer();
    t.is((await late).text, 'late');
    await closed;
    t.true(isClosed);
    const [error] = await new Promise((resolve) => server.close((...result) => resolve(result)));
    t.is(error.code, 'ERR_SERVER_NOT_RUNNING');
    await once(server.listen(port, '127.0.0.1'), 'listening');
    t.is((await ask(get, server)).text, 'late');
  });

  test(`${kind}: close() is over at once if all connections are idle, as in Node`, async (t) => {
    const server = make((request, response) => response.end(String(request.socket._server === server)));
    t.teardown(() => end(server));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const agent = new { http, https }[kind].Agent({ keepAlive: true });
    t.teardown(() => agent.destroy());
    const [response] = await once(get({ host: '127.0.0.1', port: server.address().port, agent, rejectUnauthorized: false }), 'response');
    t.is(String(await response.toArray()), 'true');
    const order = [];
    const later = new Promise((resolve) => setImmediate(() => resolve(order.push('immediate'))));
    server.close(() => order.push('closed'));
    await later;
    t.deepEqual(order, ['closed', 'immediate']);
  });

  test(`${kind}: the reactor answers upgrades, and close() waits for the WebSockets`, async (t) => {
    const server = make();
    const wss = new WebSocketServer({ server });
    t.teardown(() => end(server));
    wss.on('connection', (socket) => socket.on('message', (data) => socket.send(data)));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const client = new WebSocket(`${scheme}://127.0.0.1:${server.address().port}`, { rejectUnauthorized: false });
    await once(client, 'open');
    client.send('hello');
    t.is(String((await once(client, 'message'))[0]), 'hello');
    t.is(wss.metrics().handshakes.byJavaScript, null);
    wss.close();
    let isClosed = false;
    const closed = once(server.close(() => (isClosed = true)), 'close');
    await new Promise((resolve) => setImmediate(resolve));
    t.false(isClosed);
    client.terminate();
    await closed;
  });

  test(`${kind}: errors are events of the server`, async (t) => {
    const [first, second] = [make(), make()];
    t.teardown(() => end(first));
    await once(first.listen(0, '127.0.0.1'), 'listening');
    const { port } = first.address();
    const [error] = await once(second.listen(port, '127.0.0.1'), 'error');
    t.like(error, { code: 'EADDRINUSE', message: `listen EADDRINUSE: address already in use 127.0.0.1:${port}` });
    t.false(second.listening);
    t.throws(() => second.listen(70_000), { code: 'ERR_SOCKET_BAD_PORT' });
  });
}

test('close() before the name of the host is known', async (t) => {
  const server = http.createServer();
  server.on('listening', () => t.fail());
  server.listen({ port: 0, host: 'localhost' });
  await once(server.close(), 'close');
  await new Promise((resolve) => setTimeout(resolve, 50));
  t.false(server.listening);
});

own('a server with a reactor that has failed listens no longer', async (t) => {
  // In a world of its own: no other server could listen here afterwards.
  const worker = new Worker(
    `const [http, { parentPort }] = ['http', 'worker_threads'].map(require);
    require('./lib/register-listen.js');
    const server = http.createServer().listen(0, '127.0.0.1', () => {
      const error = new Error('as pretended');
      for (const port of require('./lib/reactor/table.js').fail(error, false).servers) port._onFailed(error);
    });
    server.on('error', ({ message }) => parentPort.postMessage([message, server.listening, server.address()]));`,
    { eval: true },
  );
  t.teardown(() => worker.terminate());
  t.deepEqual(await once(worker, 'message'), [['as pretended', false, null]]);
});

test('https: another certificate while it listens; a client that speaks no TLS', async (t) => {
  const server = KINDS.https.make((_, response) => response.end());
  t.teardown(() => end(server));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const before = await ask(https.get, server);
  server.setSecureContext({ cert: otherCert, key: otherKey });
  t.false((await ask(https.get, server)).certificate.equals(before.certificate));
  const plain = net.connect(server.address().port, '127.0.0.1', () => plain.end('GET / HTTP/1.1\r\n\r\n'));
  const [error] = await once(server, 'clientError');
  t.is(error.code, 'ERR_SSL_HTTP_REQUEST');
  plain.destroy();
});

own('what only Node can do stays Node\'s, with a warning where that is no choice of the program', async (t) => {
  const warnings = [];
  const note = ({ message }) => warnings.push(message);
  process.on('warning', note);
  t.teardown(() => process.removeListener('warning', note));
  const withSession = https.createServer({ cert, key }).on('newSession', () => {});
  const withContext = https.createServer({ cert, key });
  withContext.addContext('other.example', { cert, key });
  for (const [server, where] of [
    [http.createServer(), { path: join(tmpdir(), `reactor-ws-${process.pid}.sock`) }],
    [http.createServer(), { port: 0, signal: new AbortController().signal }],
    [https.createServer({ cert, key, sigalgs: 'ecdsa_secp256r1_sha256' }), { port: 0 }],
    [withSession, { port: 0 }],
    [withContext, { port: 0 }],
  ]) {
    await once(server.listen(where), 'listening');
    t.false(isReactors(server));
    await end(server);
  }
  t.throws(() => http.createServer().listen({ port: 'text' }), { code: 'ERR_SOCKET_BAD_PORT' });
  t.is(warnings.length, 3, warnings.join('\n'));
  t.regex(warnings[0], /^reactor-ws: the port of a server stays Node's: options\.tls\.sigalgs /);
  t.is(net.Server.prototype.listen, listen);
});

/** As of Promise, from Node 22 on. */
function withResolvers() {
  let resolve;
  const promise = new Promise((resolved) => (resolve = resolved));
  return { promise, resolve };
}

own('a server cannot be sent to another process: an error, as for a closed one', async (t) => {
  const server = http.createServer();
  t.teardown(() => end(server));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const child = spawn(process.execPath, ['-e', 'process.on("message", () => {})'], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  t.teardown(() => child.kill());
  await once(child, 'spawn');
  const error = await new Promise((resolve) => child.send('server', server, resolve));
  t.regex(error.code, /^E(BADF|INVAL)$/);
});

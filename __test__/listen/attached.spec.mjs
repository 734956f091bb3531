// listen(server) with a WebSocketServer({ server }): the reactors answer upgrades, as long as nothing in JavaScript would see or judge
// them before the answer.
import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import tls from 'node:tls';

import test from 'ava';

import { cert, key } from '../helpers/certificate.mjs';
import { frame, wsClient } from '../helpers/clients.mjs';
import { WAYS, home, httpServer, lasting, listenGiven, talk } from '../helpers/handoff.mjs';
import { get } from '../helpers/http.mjs';
import { WebSocketServer } from '../helpers/impl.mjs';
import { RawClient, upgradeRequest } from '../helpers/raw-client.mjs';

const GET = 'GET /page HTTP/1.1\r\nHost: a\r\n\r\n';
const HOOK = 'an option, a listener or a method of a WebSocketServer';
const SETTING = 'a setting or a method of the HTTP server';

/** A WebSocketServer of an HTTP server, which echoes texts. */
function attach(t, server, options) {
  const wss = new WebSocketServer({ server, ...options });
  t.teardown(() => {
    for (const ws of wss.clients) ws.terminate();
    wss.close();
  });
  return wss.on('connection', (ws) => ws.on('error', () => {}).on('message', (data) => ws.send(String(data))));
}

async function start(t, way, options, { server = httpServer(t), ...port } = {}) {
  const wss = attach(t, server, options);
  const given = await listenGiven(t, way, server, port);
  return { ...given, server, wss };
}

/** Whether a reactor has read the request, and not the HTTP server. */
async function isNative(t, wss, port, path = '/') {
  const connected = once(wss, 'connection');
  const raw = await RawClient.connect(t, port);
  await raw.send(Buffer.concat([Buffer.from(upgradeRequest({ line: `GET ${path} HTTP/1.1` })), frame(1, 'hello')]));
  const text = await raw.untilClosedOr((all) => all.endsWith('hello'));
  t.true(text.startsWith('HTTP/1.1 101 ') && text.endsWith('\x81\x05hello'), text);
  raw.reset();
  const [, request] = await connected;
  return request.constructor.name === 'UpgradeRequest';
}

const settled = () => new Promise(setImmediate);

/** What makes JavaScript answer: with the reason, and, where that is possible, what ends it. */
const OBSTACLES = {
  verifyClient: [HOOK, { verifyClient: () => true }],
  'verifyClient, later': [HOOK, {}, ({ options }) => (options.verifyClient = () => true), ({ options }) => (options.verifyClient = null)],
  handleProtocols: [HOOK, { handleProtocols: () => false }],
  "'headers'": [HOOK, {}, (wss) => wss.on('headers', () => {}), (wss) => wss.removeAllListeners('headers')],
  "'wsClientError'": [HOOK, {}, (wss) => wss.on('wsClientError', (error, socket) => socket.destroy()), (wss) => wss.removeAllListeners('wsClientError')],
  shouldHandle: [HOOK, {}, (wss) => (wss.shouldHandle = () => true), (wss) => delete wss.shouldHandle],
  handleUpgrade: [HOOK, {}, (wss) => (wss.handleUpgrade = (...all) => WebSocketServer.prototype.handleUpgrade.apply(wss, all))],
  'emit of the WebSocketServer': [HOOK, {}, (wss) => (wss.emit = (...all) => http.Server.prototype.emit.apply(wss, all))],
  allowedOrigins: [HOOK, { allowedOrigins: () => true }],
  "'upgrade'": ["another listener of 'upgrade'", {}, (_, server, note) => server.on('upgrade', note), (_, server, note) => server.removeListener('upgrade', note)],
  "'connection'": ["a listener of 'connection'", {}, (_, server, note) => server.on('connection', note), (_, server, note) => server.removeListener('connection', note)],
  "'upgrade' in place of ours": ["another listener of 'upgrade'", {}, (wss, server, note) => server.removeAllListeners().on('upgrade', (...all) => note() < 0 || wss.handleUpgrade(...all, (ws) => wss.emit('connection', ws, all[0]))).on('connection', http._connectionListener)],
  'a setting, later': [SETTING, {}, (_, server) => (server.maxHeadersCount = 20)],
  "another listener of Node's event": [SETTING, {}, (_, server) => server.on('connection', server.listeners('connection')[0].bind(server)).removeListener('connection', server.listeners('connection')[0])],
  'listenerCount of the HTTP server': [SETTING, {}, (_, server) => (server.listenerCount = (event) => http.Server.prototype.listenerCount.call(server, event))],
  'emit of the HTTP server': [SETTING, {}, (_, server) => (server.emit = (...all) => http.Server.prototype.emit.apply(server, all))],
  'one for every path beside another': ['WebSocketServers that take the same path', {}, (wss, server) => new WebSocketServer({ server, path: '/other' })],
};

for (const way of Object.keys(WAYS)) {
  test(`${way}: a reactor answers, and the program sees what it sees over Node`, async (t) => {
    const { listener, port, server, wss } = await start(t, way, { path: '/ws' });
    t.true(await isNative(t, wss, port, '/ws?a'));
    const connected = once(wss, 'connection');
    const client = new wsClient(`ws://127.0.0.1:${port}/ws?b`, { headers: { cookie: 'c=1' } });
    t.teardown(() => client.terminate());
    const [ws, { headers, method, rawHeaders, socket, url }] = await connected;
    t.deepEqual([method, url, headers.cookie, rawHeaders.includes('Host')], ['GET', '/ws?b', 'c=1', true]);
    t.deepEqual([socket, socket.remoteAddress, socket.localPort], [ws._socket, '127.0.0.1', port]);
    t.deepEqual(wss.address(), listener.address());
    t.true(wss.clients.has(ws));
    // Others are the HTTP server's, or refused as over Node.
    t.deepEqual(await get(listener, '/page'), { statusCode: 200, body: 'GET /page' });
    t.regex(await talk(t, port, upgradeRequest({ line: 'GET /no HTTP/1.1' })), /^HTTP\/1\.1 400 /);
    t.regex(await talk(t, port, upgradeRequest({ line: 'GET /ws HTTP/1.1', 'Sec-WebSocket-Key': 'x' })), /^HTTP\/1\.1 400 [\s\S]*Sec-WebSocket-Key header$/);
    // Of the port, and of the HTTP server.
    await listener[Symbol.asyncDispose]();
    client.send('still');
    t.is(String((await once(client, 'message'))[0]), 'still');
    t.is(server.listenerCount('newListener'), 0);
    t.is(wss.address(), null);
    t.is(wss.metrics().handshakes.byJavaScript, 'the HTTP server is not behind a port of the reactors');
    const closed = once(wss, 'close');
    wss.close();
    client.close();
    await closed;
  });

  test(`${way}: JavaScript answers where something would see or judge an upgrade before`, async (t) => {
    for (const [title, [reason, options, begin = () => {}, end]] of Object.entries(OBSTACLES)) {
      const { port, server, wss } = await start(t, way, options);
      let noted = 0;
      const note = () => noted++;
      begin(wss, server, note);
      t.not(wss.metrics().handshakes.byJavaScript, null, title);
      // Nothing reports an assigned property: the next connection shows it, and both servers see that one, too.
      if (reason === SETTING) await isNative(t, wss, port);
      t.false(await isNative(t, wss, port), title);
      t.is(wss.metrics().handshakes.byJavaScript, reason, title);
      t.is(noted, begin.toString().includes('note') ? 1 : 0, title);
      if (end === undefined) continue;
      end(wss, server, note);
      await settled();
      // No event reports the removal of a hook, either.
      if (reason === HOOK) await isNative(t, wss, port);
      t.true(await isNative(t, wss, port), title);
    }
  });

  test(`${way}: settings of the HTTP server that judge or change requests`, async (t) => {
    class Message extends http.IncomingMessage {}
    for (const options of [{ IncomingMessage: Message }, { joinDuplicateHeaders: true }, { maxHeaderSize: 1000 }, { requireHostHeader: false }]) {
      const { port, wss } = await start(t, way, {}, { server: http.createServer(options) });
      t.is(wss.metrics().handshakes.byJavaScript, SETTING);
      const [[, request]] = await Promise.all([once(wss, 'connection'), isNative(t, wss, port)]);
      t.is(request instanceof Message, options.IncomingMessage !== undefined);
    }
  });

  test(`${way}: WebSocketServers come and go, before and after listen(), each with its path`, async (t) => {
    const server = httpServer(t);
    const { listener, port } = await listenGiven(t, way, server);
    t.is((await get(listener, '/')).statusCode, 200);
    const one = attach(t, server, { path: '/1' });
    await settled();
    t.true(await isNative(t, one, port, '/1'));
    const two = attach(t, server, { path: '/2', perMessageDeflate: true });
    await settled();
    t.true(await isNative(t, one, port, '/1'));
    t.true(await isNative(t, two, port, '/2'));
    t.regex(await talk(t, port, upgradeRequest({ line: 'GET /3 HTTP/1.1' })), /^HTTP\/1\.1 400 /);
    const second = await listenGiven(t, way, server);
    await settled();
    t.true(await isNative(t, two, second.port, '/2'));
    // At once: nothing else takes its path now.
    one.close();
    t.regex(await talk(t, port, upgradeRequest({ line: 'GET /1 HTTP/1.1' })), /^HTTP\/1\.1 400 /);
    t.true(await isNative(t, two, port, '/2'));
    two.close();
    t.regex(await talk(t, port, upgradeRequest({ Connection: 'close, Upgrade' })), /^HTTP\/1\.1 200 /);
    const three = attach(t, server);
    await settled();
    t.true(await isNative(t, three, port));
    t.true(await isNative(t, three, second.port));
    t.is(three.metrics().connections.opened, 2);
  });

  test(`${way}: limits of the WebSocketServer`, async (t) => {
    const { port, wss } = await start(t, way, { maxConnections: 2, maxHeaders: 20, allowedOrigins: 'http://good', maxPayload: 10 });
    const ask = (fields) => talk(t, port, upgradeRequest(fields), (text) => text.endsWith('\r\n\r\n'));
    t.regex(await ask({ Origin: 'http://bad' }), /^HTTP\/1\.1 403 /);
    t.regex(await ask(Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`X-${n}`, n]))), /^HTTP\/1\.1 431 /);
    const open = [await RawClient.connect(t, port), await RawClient.connect(t, port)];
    for (const raw of open) {
      await raw.send(upgradeRequest({ Origin: 'http://good' }));
      await raw.until((text) => text.endsWith('\r\n\r\n'));
    }
    t.regex(await ask({ Origin: 'http://good' }), /^HTTP\/1\.1 503 [\s\S]*Retry-After: 10/);
    // Requests do not count.
    t.regex(await talk(t, port, GET.replace('Host', 'Connection: close\r\nHost')), /^HTTP\/1\.1 200 /);
    await open[0].send(frame(1, 'more than ten'));
    await open[0].until((text) => text.includes('\x88\x02\x03\xf1'));
    open[0].reset();
    while (wss.clients.size !== 1) await settled();
    t.regex(await ask({ Origin: 'http://good' }), /^HTTP\/1\.1 101 /);
    t.deepEqual(wss.metrics().handshakes.denied, { connections: 1, address: 0, rate: 0, head: 1, origin: 1 });
    // Both ways out of the count: by Node's listener, and by the reactor.
    wss.drain({ duration: 0 });
    t.regex(await ask({ Origin: 'http://good' }), /^HTTP\/1\.1 503 [\s\S]*Retry-After: /);
  });

  // A GET, the upgrade and frames, cut at every byte: the same answers as Node alone gives.
  test(`${way}: pipelines that are cut anywhere`, async (t) => {
    const { port, wss } = await start(t, way, { path: '/ws' });
    const plain = httpServer(t);
    attach(t, plain, { path: '/ws' });
    // Ends within a head.
    const half = await RawClient.connect(t, port);
    await half.send(GET.slice(0, 20));
    half.end();
    t.regex(await half.closed(), /^HTTP\/1\.1 400 /);
    await once(plain.listen(0, '127.0.0.1'), 'listening');
    t.is(wss.metrics().handshakes.byJavaScript, null);
    const upgrade = upgradeRequest({ line: 'GET /ws HTTP/1.1' });
    const frames = Buffer.concat([frame(1, 'one'), frame(1, 'two'), frame(8, Buffer.from([3, 0xe8]))]).toString('latin1');
    const withBody = upgradeRequest({ line: 'GET /ws HTTP/1.1', 'Content-Length': 5 }) + 'hello';
    for (const bytes of [upgrade + frames, GET + upgrade + frames, withBody + frames, upgradeRequest({ line: 'GET /ws HTTP/1.1', 'Sec-WebSocket-Version': '7' }) + frames]) {
      const expected = lasting(await talk(t, plain.address().port, Buffer.from(bytes, 'latin1')));
      for (let at = 1; at < bytes.length; at += 20) {
        await Promise.all(Array.from({ length: 20 }, async (_, more) => {
          const [one, two] = [bytes.slice(0, at + more), bytes.slice(at + more)].map((part) => Buffer.from(part, 'latin1'));
          t.is(lasting(await talk(t, port, [one, two])), expected, `${at + more}`);
        }));
      }
    }
  });
}

test('what the program does in the turn of an upgrade that a reactor has answered counts', async (t) => {
  const { listener, port, server, wss } = await start(t, 'socket');
  const raw = await RawClient.connect(t, port);
  await raw.send(upgradeRequest());
  // The record waits while this turn blocks.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  wss.options.verifyClient = () => false;
  t.false((await raw.closed()).includes('101'));
  t.is(wss.clients.size, 0);
  wss.options.verifyClient = null;
  const late = await RawClient.connect(t, port);
  await late.send(upgradeRequest());
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  wss.close();
  await late.closed();
  t.is(wss.clients.size, 0);
  const other = attach(t, server);
  await settled();
  t.true(await isNative(t, other, port));
  listener.close();
});

test('over TLS: the client, and the certificate of the port', async (t) => {
  const server = http.createServer(home);
  const { port, wss } = await start(t, 'relay', {}, { server, tls: { cert, key } });
  const connected = once(wss, 'connection');
  const client = new wsClient(`wss://localhost:${port}/`, { ca: cert });
  t.teardown(() => client.terminate());
  const [[, { constructor, socket }]] = await Promise.all([connected, once(client, 'open')]);
  t.is(constructor.name, 'UpgradeRequest');
  t.true(socket.encrypted);
  t.regex(socket.getProtocol(), /^TLSv1\./);
  t.truthy(socket.getCertificate());
  client.send('secret');
  t.is(String((await once(client, 'message'))[0]), 'secret');
});

test("over TLS: 'connection' of an https.Server has the socket of the requests, and makes JavaScript answer upgrades", async (t) => {
  const sockets = new Set();
  const server = https.createServer((request, response) => response.end(String(sockets.has(request.socket))));
  const { port, wss } = await start(t, 'relay', {}, { server, tls: { cert, key } });
  t.is(wss.metrics().handshakes.byJavaScript, null);
  server.on('connection', (socket) => sockets.add(socket));
  t.is(wss.metrics().handshakes.byJavaScript, "a listener of 'connection'");
  const [response] = await once(https.get({ port, host: '127.0.0.1', agent: false, rejectUnauthorized: false }), 'response');
  t.is(String(await response.toArray()), 'true');
  const connected = once(wss, 'connection');
  const client = new wsClient(`wss://localhost:${port}/`, { ca: cert });
  t.teardown(() => client.terminate());
  const [[, { socket }]] = await Promise.all([connected, once(client, 'open')]);
  t.true(sockets.has(socket));
  t.is(sockets.size, 2);
});

test('over TLS: the end of the client is the end of a connection that nothing reads, as over https', async (t) => {
  const server = http.createServer();
  const { port } = await listenGiven(t, 'relay', server, { tls: { cert, key } });
  const upgraded = once(server, 'upgrade');
  const client = tls.connect({ port, host: '127.0.0.1', ca: cert, servername: 'localhost', allowHalfOpen: true });
  client.end(upgradeRequest());
  const [, socket] = await upgraded;
  await once(socket, 'close');
  t.false(socket.allowHalfOpen);
});

test("'connection' and 'request' run in the context of listen(), as in that of server.listen()", async (t) => {
  const storage = new AsyncLocalStorage();
  const server = httpServer(t, (_, response) => response.end(storage.getStore()));
  const { listener, port, wss } = await storage.run('of listen()', () => start(t, 'socket', {}, { server }));
  t.is((await get(listener, '/')).body, 'of listen()');
  const seen = new Promise((resolve) => {
    wss.on('connection', (ws) => ws.on('message', () => resolve(storage.getStore())));
  });
  t.true(await isNative(t, wss, port));
  t.is(await seen, 'of listen()');
});

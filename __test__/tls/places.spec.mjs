// A port with tls wherever it may be, and beside the other options of a server.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';

import test from 'ava';

import { cert } from '../helpers/certificate.mjs';
import { Child } from '../helpers/child.mjs';
import { WebSocket, wsClient } from '../helpers/clients.mjs';
import { WebSocketServer, isSpread } from '../helpers/impl.mjs';
import { SERVER, authority, connectTls, openSecure, pair, startSecure } from '../helpers/secure.mjs';

const onLinux = process.platform === 'linux' ? test : test.skip;

test('a client of ours over wss, with compression', async (t) => {
  const server = await startSecure(t, SERVER, { perMessageDeflate: true });
  const { client, ws } = await openSecure(t, server, WebSocket, { perMessageDeflate: true });
  t.is(ws.extensions, 'permessage-deflate');
  const text = 'compressed '.repeat(10_000);
  client.send(text);
  t.is(String((await once(ws, 'message'))[0]), text);
  ws.send(text);
  t.is(String((await once(client, 'message'))[0]), text);
});

test('the header of the PROXY protocol comes before TLS', async (t) => {
  const server = await startSecure(t, SERVER, { proxyProtocol: { trusted: ['127.0.0.0/8'] } });
  const open = async (header) => {
    const raw = net.connect({ port: server.port, host: '127.0.0.1' });
    t.teardown(() => raw.destroy());
    await once(raw, 'connect');
    for (const piece of header) raw.write(piece);
    return openSecure(t, server, wsClient, { createConnection: (options) => tls.connect({ ...options, ca: authority, servername: 'localhost', socket: raw }) });
  };
  const header = 'PROXY TCP4 192.0.2.1 10.0.0.1 56324 443\r\n';
  for (const pieces of [[header], [header.slice(0, 9), header.slice(9)], [...header]]) {
    const { request } = await open(pieces);
    t.is(request.socket.remoteAddress, '192.0.2.1');
    t.is(request.socket.remotePort, 56324);
    t.is(request.socket.getProtocol(), 'TLSv1.3');
  }
  await t.throwsAsync(connectTls(t, server.port));
});

onLinux('on a socket of the file system', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tls-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'socket');
  const wss = new WebSocketServer({ port: path, tls: SERVER });
  await once(wss, 'listening');
  t.teardown(() => wss.close());
  const socket = tls.connect({ path, ca: authority, servername: 'localhost' });
  await once(socket, 'secureConnect');
  t.is(socket.getProtocol(), 'TLSv1.3');
  socket.destroy();
});

onLinux('where only a server of Node can listen: an abstract name', async (t) => {
  const path = `\0reactor-ws-tls-${process.pid}`;
  const wss = new WebSocketServer({ port: { path }, tls: { ...SERVER, SNICallback: (name, callback) => callback(null, name === 'a.example.com' ? pair('host-a') : null) } });
  await once(wss, 'listening');
  t.teardown(() => wss.close());
  t.notRegex(JSON.stringify(Object.keys(wss._server)), /"key"|"passphrase"|"ticketKeys"/);
  const connect = async (options) => {
    const socket = tls.connect({ path, ca: authority, servername: 'localhost', checkServerIdentity() {}, ...options });
    t.teardown(() => socket.destroy());
    await once(socket, 'secureConnect');
    return socket.getPeerCertificate().subject.CN;
  };
  const secured = once(wss, 'secureConnection');
  t.is(await connect(), 'localhost');
  t.true((await secured)[0].encrypted);
  t.is(await connect({ servername: 'a.example.com' }), 'a.example.com');
  wss.setTicketKeys(Buffer.alloc(48, 3));
  t.deepEqual(wss.getTicketKeys(), Buffer.alloc(48, 3));
  await wss.setSecureContext(pair('host-b'));
  t.is(await connect(), 'b.example.com');
  await t.throwsAsync(wss.setSecureContext(pair('server-expired')), { code: 'CERT_HAS_EXPIRED' });
  t.is(await connect(), 'b.example.com');
  const failed = once(wss, 'tlsClientError');
  net.connect({ path }).end('no TLS at all\r\n\r\n').on('error', () => {});
  t.truthy((await failed)[0].code);
});

test('in the workers of a cluster', async (t) => {
  const child = new Child(t, 'clustered.mjs', ['tls'], { stdio: ['pipe', 'pipe', 'pipe'] });
  const [port] = JSON.parse(await child.line(0));
  const greetings = new Set();
  const clients = [];
  while (greetings.size < 2) {
    const client = new wsClient(`wss://localhost:${port}`, { ca: cert });
    clients.push(client);
    const [greeting] = await once(client, 'message');
    greetings.add(String(greeting));
    client.send('hello');
    t.is(String((await once(client, 'message'))[0]), 'hello');
  }
  t.deepEqual([...greetings].sort(), ['worker 1, TLSv1.3', 'worker 2, TLSv1.3']);
  const closed = clients.map((client) => once(client, 'close'));
  child.process.stdin.write('\n');
  await Promise.all(closed);
  t.like(await child.ended(), { code: 0, stderr: '' });
});

test('admission comes before the handshake, and the drain after it', async (t) => {
  const server = await startSecure(t, SERVER, { maxConnections: 1 });
  const { client } = await openSecure(t, server, wsClient);
  await t.throwsAsync(connectTls(t, server.port));
  t.is(server.wss.metrics().handshakes.denied.connections, 1);
  const closed = once(client, 'close');
  t.deepEqual(await server.wss.drain({ duration: 0 }), { closed: 1, timedOut: 0, left: 0 });
  t.is((await closed)[0], 1012);
});

test('during a drain an upgrade is answered with 503', async (t) => {
  const server = await startSecure(t);
  const { client } = await openSecure(t, server, wsClient);
  const drained = server.wss.drain({ duration: 60_000, signal: AbortSignal.timeout(60_000) });
  const late = new wsClient(server.url, { ca: authority });
  const [, response] = await once(late.on('error', () => {}), 'unexpected-response');
  t.is(response.statusCode, 503);
  client.terminate();
  await drained;
});

test('several servers of one thread, each with its certificate', async (t) => {
  const servers = await Promise.all(['server-ecdsa', 'server-rsa'].map((name) => startSecure(t, pair(name))));
  const plain = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(plain, 'listening');
  t.teardown(() => plain.close());
  t.is((await connectTls(t, servers[0].port)).getPeerCertificate().asn1Curve, 'prime256v1');
  t.is((await connectTls(t, servers[1].port)).getPeerCertificate().asn1Curve, undefined);
  const client = new wsClient(`ws://127.0.0.1:${plain.address().port}`);
  const [[, { socket }]] = await Promise.all([once(plain, 'connection'), once(client, 'open')]);
  t.is(socket.encrypted, undefined);
  t.false(socket instanceof tls.TLSSocket);
  client.terminate();
});

test('topics and broadcasts reach clients over TLS', async (t) => {
  const server = await startSecure(t);
  const clients = [];
  for (let i = 0; i < (isSpread ? 8 : 4); i++) {
    const { client, ws } = await openSecure(t, server, wsClient);
    ws.subscribe('news');
    clients.push(client);
  }
  for (const size of [5, 4096, 100_000]) {
    const heard = clients.map((client) => once(client, 'message'));
    t.is(server.wss.publish('news', Buffer.alloc(size, 'n')), clients.length);
    for (const [data] of await Promise.all(heard)) t.is(data.length, size);
  }
});

test('handleUpgrade of another server gets the connection', async (t) => {
  const other = new WebSocketServer({ noServer: true });
  const server = await startSecure(t);
  server.wss._server.removeAllListeners('upgrade');
  server.wss._server.on('upgrade', (request, socket, head) => other.handleUpgrade(request, socket, head, (ws) => other.emit('connection', ws, request)));
  const client = new wsClient(server.url, { ca: authority });
  const [[ws, { socket }]] = await Promise.all([once(other, 'connection'), once(client, 'open')]);
  t.is(ws._socket, socket);
  t.is(socket.getProtocol(), 'TLSv1.3');
  ws.send('hi');
  t.is(String((await once(client, 'message'))[0]), 'hi');
  client.terminate();
});

test('an unreferenced socket of a connection that never opens lets the server go on', async (t) => {
  const child = new Child(t, 'secured.mjs', ['unreferenced']);
  const port = Number(await child.line(0));
  const client = await connectTls(t, port);
  t.is(await child.line(1), 'unreferenced');
  client.destroy();
  t.is(await child.line(2), 'closed');
  await connectTls(t, port);
  t.is(await child.line(3), 'unreferenced');
  child.process.kill();
});

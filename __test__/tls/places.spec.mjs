// A port with tls wherever it may be, and beside the other options of a server.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';

import test from 'ava';

import { Child } from '../helpers/child.mjs';
import { wsClient } from '../helpers/clients.mjs';
import { WebSocketServer } from '../helpers/impl.mjs';
import { SERVER, authority, connectTls, openSecure, pair, startSecure } from '../helpers/secure.mjs';

const onLinux = process.platform === 'linux' ? test : test.skip;

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

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
for (const [of, kind, text] of [
  ['a connection that never opens', 'unreferenced', ''],
  ['an HTTP server', 'given', GET],
  ['a connection before its request', 'unreferenced, given', GET],
]) {
  test(`an unreferenced socket of ${of} lets the server go on`, async (t) => {
    const child = new Child(t, 'secured.mjs', [kind]);
    const port = Number(await child.line(0));
    const client = await connectTls(t, port);
    client.write(text);
    t.is(await child.line(1), 'unreferenced');
    if (kind === 'unreferenced, given') await once(client, 'data');
    client.destroy();
    t.is(await child.line(2), 'closed');
    (await connectTls(t, port)).write(text);
    t.is(await child.line(3), 'unreferenced');
    child.process.kill();
  });
}

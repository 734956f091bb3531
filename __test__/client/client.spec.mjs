// new WebSocket(url) with a server of this package, and over TLS. Addresses, requests, answers and redirects are
// programs of differential/scenarios/client.mjs and client-failures.mjs.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';

import { WebSocket, cert, closeOf, key, startServer, test, urlOf } from '../helpers/index.mjs';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

const accept = (request) => createHash('sha1').update(request.headers['sec-websocket-key'] + GUID).digest('base64');

/** An HTTP server that answers upgrades with the lines that `answer` returns. */
async function httpServer(t, answer, { secure = false, listen = [0, '127.0.0.1'] } = {}) {
  const server = secure ? https.createServer({ cert, key }) : http.createServer();
  const requests = [];
  const sockets = new Set();
  server.on(secure ? 'secureConnection' : 'connection', (socket) => sockets.add(socket));
  server.on('upgrade', (request, socket) => {
    requests.push(request);
    socket.on('error', () => {});
    const lines = answer(request);
    if (lines !== null) socket.write([...lines, '', ''].join('\r\n'));
  });
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  server.listen(...listen);
  await once(server, 'listening');
  const url = `${secure ? 'wss' : 'ws'}://127.0.0.1:${server.address().port}`;
  return { server, requests, url };
}

const switching = (request, ...more) => [
  'HTTP/1.1 101 Switching Protocols',
  'Upgrade: websocket',
  'Connection: Upgrade',
  `Sec-WebSocket-Accept: ${accept(request)}`,
  ...more,
];

function client(t, ...args) {
  const ws = new WebSocket(...args);
  t.teardown(() => {
    if (ws.readyState === WebSocket.CONNECTING) ws.once('error', () => {});
    ws.terminate();
  });
  return ws;
}

test('messages, pings and the closing handshake with a server of this package', async (t) => {
  const server = await startServer(t);
  server.on('connection', (ws) => ws.on('message', (data, isBinary) => ws.send(data, { binary: isBinary })));
  const ws = client(t, urlOf(server), 'chat');
  t.is(ws.readyState, 0);
  t.is(ws.url, `${urlOf(server)}/`);
  t.throws(() => ws.send('x'), { message: 'WebSocket is not open: readyState 0 (CONNECTING)' });
  await once(ws, 'open');
  t.is(ws.protocol, 'chat');
  t.true(ws._socket instanceof net.Socket);
  ws.send('häh');
  t.deepEqual(await once(ws, 'message'), [Buffer.from('häh'), false]);
  ws.send(new Uint8Array([1, 2]));
  t.deepEqual(await once(ws, 'message'), [Buffer.from([1, 2]), true]);
  ws.ping('p');
  t.deepEqual(await once(ws, 'pong'), [Buffer.from('p')]);
  ws.close(1000, 'done');
  t.deepEqual(await closeOf(ws), [1000, Buffer.from('done')]);
});

test('TLS', async (t) => {
  const { url } = await httpServer(t, switching, { secure: true });
  t.regex((await once(client(t, url), 'error'))[0].message, /self.signed/);
  const ws = client(t, url.replace('127.0.0.1', 'localhost'), { ca: cert, lookup: loopback });
  await once(ws, 'open');
  t.true(ws._socket.authorized);
});

function loopback(_name, options, callback) {
  if (options.all) callback(null, [{ address: '127.0.0.1', family: 4 }]);
  else callback(null, '127.0.0.1', 4);
}

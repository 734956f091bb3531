// Servers over TLS, ours and that of ws behind https, and what connects to them.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import https from 'node:https';
import { createRequire } from 'node:module';
import net from 'node:net';
import tls from 'node:tls';

import { WebSocketServer, isReference } from './impl.mjs';

const { WebSocketServer: WsServer } = createRequire(import.meta.url)('ws');

/** A file of `fixtures/certificates`. */
export const read = (name) => readFileSync(new URL(`../fixtures/certificates/${name}`, import.meta.url));

/** The key and the certificate of that name; `issuer` follows in the chain. */
export function pair(name, issuer) {
  const cert = read(`${name}.crt`);
  return { key: read(`${name}.key`), cert: issuer === undefined ? cert : Buffer.concat([cert, read(`${issuer}.crt`)]) };
}

export const authority = read('authority.crt');
export const SERVER = pair('server-ecdsa');

/** A server of ours, on a port with `tls`. */
export async function startSecure(t, options = SERVER, rest = {}) {
  if (isReference) return startNode(t, options, rest);
  const wss = new WebSocketServer({ port: 0, host: '127.0.0.1', tls: options, ...rest });
  await once(wss, 'listening');
  return served(t, wss, wss, wss.address());
}

/** A server of ws behind one of Node. */
export async function startNode(t, options = SERVER, rest = {}) {
  const server = https.createServer(options);
  const wss = new WsServer({ server, ...rest });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return served(t, wss, server, server.address());
}

/** `listener`: what has the events and the methods of TLS. */
function served(t, wss, listener, { port }) {
  wss.on('connection', (socket) => socket.on('error', () => {}));
  t.teardown(() => {
    for (const client of wss.clients) client.terminate();
    wss.close();
  });
  return { wss, listener, port, url: `wss://localhost:${port}` };
}

/** The same program on either. */
export const SERVERS = { port: startSecure, https: startNode };

/** A client of Node's TLS, once it is secure; rejects with its error. */
export function connectTls(t, port, options = {}) {
  const socket = tls.connect({ port, host: '127.0.0.1', servername: 'localhost', ca: authority, ...options });
  t.teardown(() => socket.destroy());
  return new Promise((resolve, reject) => {
    socket.once('secureConnect', () => resolve(socket));
    socket.once('error', reject);
    socket.once('close', () => reject(Object.assign(new Error('closed'), { code: 'CLOSED' })));
    socket.on('error', () => {});
  });
}

/** A ClientHello, and whatever else a client sends at once. */
export async function clientHello(options = {}) {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = tls.connect({ port: server.address().port, host: '127.0.0.1', servername: 'localhost', ...options }).on('error', () => {});
  const [socket] = await once(server, 'connection');
  const [bytes] = await once(socket, 'data');
  client.destroy();
  server.close();
  return bytes;
}

/** Both ends of a WebSocket. */
export async function openSecure(t, { url, wss }, Client, options = {}) {
  const client = new Client(url, { ca: authority, perMessageDeflate: false, ...options });
  client.on('error', () => {});
  t.teardown(() => client.terminate());
  const [[ws, request]] = await Promise.all([once(wss, 'connection'), once(client, 'open')]);
  return { ws, request, client };
}

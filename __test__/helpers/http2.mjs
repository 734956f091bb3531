// Servers of HTTP/2 with the implementation under test behind them, and WebSockets over their streams.
import { once } from 'node:events';
import http2 from 'node:http2';
import { createRequire } from 'node:module';

import { cert, key } from './certificate.mjs';
import { wsClient } from './clients.mjs';
import { WebSocketServer } from './impl.mjs';

const { PerMessageDeflate } = createRequire(import.meta.url)('ws');

/** By name: functions that make a server. */
export const SERVERS = {
  clear: (options, listener) => http2.createServer(options, listener),
  tls: (options, listener) => http2.createSecureServer({ cert, key, allowHTTP1: true, ...options }, listener),
};

/** A server that listens, and which the end of the test closes with all its sessions. */
export async function startHttp2(t, { kind = 'clear', listener, ...options } = {}) {
  const server = SERVERS[kind](options, listener);
  const ends = new Set();
  server.on('session', (session) => ends.add(session));
  server.on('secureConnection', (socket) => ends.add(socket));
  t.teardown(() => {
    server.close();
    for (const end of ends) end.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/** A WebSocketServer behind a server of HTTP/2. */
export async function start(t, options, serverOptions) {
  const server = await startHttp2(t, serverOptions);
  return { server, wss: new WebSocketServer({ server, ...options }) };
}

/** A session of a client that knows the settings of the server. */
export async function connect(t, server, options = {}) {
  const scheme = 'cert' in server || server.constructor.name === 'Http2SecureServer' ? 'https' : 'http';
  const session = http2.connect(`${scheme}://localhost:${server.address().port}`, { ca: cert, lookup: toLoopback, ...options });
  session.on('error', () => {});
  t.teardown(() => session.destroy());
  await once(session, 'remoteSettings');
  return session;
}

function toLoopback(_name, options, callback) {
  callback(null, options.all ? [{ address: '127.0.0.1', family: 4 }] : '127.0.0.1', 4);
}

/** The fields of a request for a WebSocket; undefined leaves one out. */
export function fieldsOf({ path = '/', protocols, extensions, ...fields } = {}) {
  const all = {
    ':method': 'CONNECT',
    ':protocol': 'websocket',
    ':scheme': 'http',
    ':authority': 'example.com',
    ':path': path,
    'sec-websocket-version': '13',
    'sec-websocket-protocol': protocols,
    'sec-websocket-extensions': extensions,
    ...fields,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** A stream that asks for a WebSocket. */
export function ask(session, fields, options = { endStream: false }) {
  const stream = session.request(fieldsOf(fields), options);
  stream.on('error', () => {});
  return stream;
}

/** The fields of the answer, or null if the stream was reset before. */
export async function answered(stream) {
  const closed = new AbortController();
  stream.once('close', () => closed.abort());
  if (stream.destroyed) return null;
  return once(stream, 'response', { signal: closed.signal }).then(([fields]) => fields, () => null);
}

/** A refusal with its body. */
export async function refusal(stream) {
  const fields = await answered(stream);
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return { status: fields[':status'], fields, body: Buffer.concat(chunks).toString() };
}

/** The client of ws over an answered stream. */
export function overStream(stream, fields) {
  const client = new wsClient(null, undefined, { closeTimeout: 30_000 });
  client._isServer = false;
  client._protocol = fields['sec-websocket-protocol'] ?? '';
  const extensions = fields['sec-websocket-extensions'];
  if (extensions !== undefined) client._extensions = { 'permessage-deflate': accepted(extensions) };
  client.on('error', () => {});
  client.setSocket(stream, Buffer.alloc(0), { maxPayload: 1 << 28, skipUTF8Validation: false, allowSynchronousEvents: true });
  return client;
}

function accepted(header) {
  const parameters = {};
  for (const part of header.split(';').slice(1)) {
    const [name, value = true] = part.trim().split('=');
    parameters[name] = [value];
  }
  const deflate = new PerMessageDeflate({ threshold: 0, maxPayload: 1 << 28 });
  deflate.accept([parameters]);
  return deflate;
}

/** A client of ws over a new stream. */
export async function open(session, fields) {
  const stream = ask(session, fields);
  const answer = await answered(stream);
  if (answer?.[':status'] !== 200) throw new Error(`refused with ${answer?.[':status']}`);
  return overStream(stream, answer);
}

/** The two ends of a new connection. */
export async function openPair(session, wss, fields) {
  const [[ws, request], client] = await Promise.all([once(wss, 'connection'), open(session, fields)]);
  return { ws, request, client };
}

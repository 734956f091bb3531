// The demo: echo, a chat room, and figures of the server once a second.
//
// A text message is JSON with a `type`; a binary message is echoed as it is. The page is served by node:http; the
// WebSockets have a port of their own, which the page is told.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

import { WebSocketServer } from '../../lib/index.mjs';
import { Figures } from './figures.mjs';

const HOST = process.env.HOST || '127.0.0.1';
const FIRST_PORT = 8080;
const LAST_PORT = FIRST_PORT + 100;
const LONGEST_NAME = 24;
const LONGEST_LINE = 500;
const HISTORY = 50;
/** A page that does not read its figures gets no more of them until it does. */
const UNREAD_BYTES = 256 * 1024;

const figures = new Figures();
const history = [];
/** Those who said hello, and their names: the pages. Other connections are only echoed to. */
const visitors = new Map();

const sockets = new WebSocketServer({ host: HOST, port: 0, maxPayload: 64 * 1024, pingInterval: 30_000 });
sockets.on('connection', (socket) => {
  socket.on('error', () => {});
  socket.on('message', (data, isBinary) => {
    figures.received();
    if (isBinary) {
      figures.sent();
      socket.send(data);
    } else {
      handle(socket, parse(data));
    }
  });
  socket.on('close', () => leave(socket));
});
await once(sockets, 'listening');

const page = readFileSync(new URL('index.html', import.meta.url), 'utf8').replace(
  '{{socketPort}}',
  sockets.address().port,
);
const http = createServer((request, response) => {
  const known = new URL(request.url, 'http://demo').pathname === '/';
  response.writeHead(known ? 200 : 404, {
    'Content-Type': known ? 'text/html; charset=utf-8' : 'text/plain',
    'Content-Security-Policy':
      "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src ws:; img-src data:",
    'Cache-Control': 'no-store',
  });
  response.end(known ? page : 'Not found\n');
});
const port = await listen();
console.log(`reactor-ws demo: http://localhost:${port}`);

const reporter = setInterval(report, 1000);
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stop);

/** PORT if it is set and nothing else; otherwise the first free port from 8080 on. */
async function listen() {
  let candidate = process.env.PORT ? Number(process.env.PORT) : FIRST_PORT;
  for (;;) {
    try {
      http.listen(candidate, HOST);
      await once(http, 'listening');
      return http.address().port;
    } catch (error) {
      if (error.code !== 'EADDRINUSE' || process.env.PORT || candidate === LAST_PORT) throw error;
      candidate += 1;
    }
  }
}

function parse(data) {
  try {
    const message = JSON.parse(data.toString());
    return typeof message === 'object' ? message : null;
  } catch {
    return null;
  }
}

function handle(socket, message) {
  switch (message?.type) {
    case 'hello':
      return join(socket, cut(message.name, LONGEST_NAME) || 'guest');
    case 'echo':
      return send(socket, message);
    case 'chat':
      return say(visitors.get(socket), cut(message.text, LONGEST_LINE));
    default:
      return socket.close(1008, 'unknown message');
  }
}

function join(socket, name) {
  const isNew = !visitors.has(socket);
  visitors.set(socket, name);
  if (!isNew) return;
  for (const line of history) send(socket, line);
  announce(`${name} joined`);
}

function leave(socket) {
  const name = visitors.get(socket);
  if (visitors.delete(socket)) announce(`${name} left`);
}

function say(name, text) {
  if (name !== undefined && text !== '') publish({ type: 'chat', from: name, text });
}

function announce(text) {
  publish({ type: 'chat', from: null, text });
}

function publish(line) {
  history.push(line);
  if (history.length > HISTORY) history.shift();
  for (const socket of visitors.keys()) send(socket, line);
}

function report() {
  const message = { type: 'figures', ...figures.take(sockets.clients.size) };
  for (const socket of visitors.keys()) {
    if (socket.bufferedAmount < UNREAD_BYTES) send(socket, message);
  }
}

function send(socket, message) {
  if (socket.readyState !== socket.OPEN) return;
  figures.sent();
  socket.send(JSON.stringify(message));
}

function cut(text, length) {
  return typeof text === 'string' ? text.trim().slice(0, length) : '';
}

function stop() {
  clearInterval(reporter);
  http.close();
  http.closeAllConnections();
  sockets.close();
  for (const socket of sockets.clients) socket.close(1001);
}

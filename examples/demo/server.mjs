// The demo: reactor-ws and ws under the same load, an echo, and a chat room. One port serves the page and its WebSockets.
//
// A text message is JSON with a `type`; a binary message is echoed as it is.

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

import { WebSocketServer } from 'reactor-ws';

import { Contest } from './contest.mjs';
import { listen } from './port.mjs';

const HOST = process.env.HOST || '127.0.0.1';
const LONGEST_NAME = 24;
const LONGEST_LINE = 500;
const LINES = 50;
/** A page that does not read its figures gets no more of them until it does. */
const UNREAD_BYTES = 256 * 1024;

const HEADERS = {
  'Content-Security-Policy': "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self' ws: wss:; img-src data:",
  'Cache-Control': 'no-store',
};
const FILES = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/style.css': ['style.css', 'text/css; charset=utf-8'],
  '/page.mjs': ['page.mjs', 'text/javascript; charset=utf-8'],
  '/chart.mjs': ['chart.mjs', 'text/javascript; charset=utf-8'],
};

const http = createServer((request, response) => {
  const { pathname } = new URL(request.url, 'http://demo');
  const [file, type] = Object.hasOwn(FILES, pathname) ? FILES[pathname] : [null, 'text/plain'];
  response.writeHead(file === null ? 404 : 200, { ...HEADERS, 'Content-Type': type });
  response.end(file === null ? 'Not found\n' : readFileSync(new URL(file, import.meta.url)));
});
const contest = new Contest();
const lines = [];
/** Those who said hello, and their names: the pages. Other connections are only echoed to. */
const visitors = new Map();

// Before the server of the WebSockets, which emits the errors of this one too.
const port = await orExit(listen(http, HOST, process.env.PORT));
await orExit(contest.start());
const sockets = new WebSocketServer({ server: http, path: '/live', maxPayload: 64 * 1024, pingInterval: 30_000 });
sockets.on('connection', (socket) => {
  socket.on('error', () => {});
  socket.on('message', (data, isBinary) => {
    if (isBinary) socket.send(data);
    else handle(socket, parse(data));
  });
  socket.on('close', () => leave(socket));
});

contest.on('sample', (sample) => toAll({ type: 'sample', sample }));
contest.on('verdict', (verdict) => toAll({ type: 'verdict', verdict }));
contest.on('load', (load) => toAll({ type: 'load', load }));
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stop);
console.log(`reactor-ws demo: http://localhost:${port}`);

/** What goes wrong before there is a demo is a sentence. */
async function orExit(promise) {
  try {
    return await promise;
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}

function parse(data) {
  try {
    return JSON.parse(data.toString());
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
    case 'block':
      return contest.block();
    case 'load':
      return contest.setLoad(message);
    default:
      return socket.close(1008, 'unknown message');
  }
}

function join(socket, name) {
  const isNew = !visitors.has(socket);
  visitors.set(socket, name);
  if (!isNew) return;
  contest.setWatched(true);
  const { history, load } = contest;
  send(socket, { type: 'welcome', history, load, lines });
  announce(`${name} joined`);
}

function leave(socket) {
  const name = visitors.get(socket);
  if (!visitors.delete(socket)) return;
  contest.setWatched(visitors.size > 0);
  announce(`${name} left`);
}

function say(name, text) {
  if (name !== undefined && text !== '') publish({ type: 'chat', from: name, text });
}

function announce(text) {
  publish({ type: 'chat', from: null, text });
}

function publish(line) {
  lines.push(line);
  if (lines.length > LINES) lines.shift();
  toAll(line);
}

function toAll(message) {
  for (const socket of visitors.keys()) if (socket.bufferedAmount < UNREAD_BYTES) send(socket, message);
}

function send(socket, message) {
  if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(message));
}

function cut(text, length) {
  return typeof text === 'string' ? text.trim().slice(0, length) : '';
}

function stop() {
  contest.stop();
  http.close();
  sockets.close();
  for (const socket of sockets.clients) socket.close(1001);
  http.closeIdleConnections();
}

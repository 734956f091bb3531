// The demo: reactor-ws and ws under the same load, a topic with a reader that stalls, an echo, and
// chat rooms. One port serves the page and its WebSockets.
//
// A text message is JSON with a `type`; a binary message is echoed as it is.

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

import { WebSocketServer } from 'reactor-ws';

import { Contest } from './contest.mjs';
import { Feed } from './feed.mjs';
import { listen } from './port.mjs';

const HOST = process.env.HOST || '127.0.0.1';
const LONGEST_NAME = 24;
const LONGEST_LINE = 500;
/** Rooms are topics: the last lines of each are kept for those who come later. */
const ROOMS = ['lobby', 'kitchen', 'garden'];
const LINES = 50;
/** The topic of the figures. A page that does not read gets no more of them until it does. */
const FIGURES = 'figures';
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
const feed = new Feed();
/** The pages, which have sent their name and room. Other connections only get echoes. */
const visitors = new Map();

// Ahead of the server of the WebSockets, which emits the errors of this one too.
const port = await orExit(listen(http, HOST, process.env.PORT));
await orExit(Promise.all([contest.start(), feed.start()]));
const sockets = new WebSocketServer({
  server: http,
  path: '/live',
  maxPayload: 64 * 1024,
  pingInterval: 30_000,
  topicOptions: (topic) => ({ slow: 'drop', limit: UNREAD_BYTES, history: topic === FIGURES ? 0 : LINES }),
});
sockets.on('connection', (socket) => {
  socket.on('error', () => {});
  socket.on('message', (data, isBinary) => {
    if (isBinary) socket.send(data);
    else handle(socket, parse(data));
  });
  socket.on('close', () => leave(socket));
});

contest.on('sample', (sample) => publish(FIGURES, { type: 'sample', sample }));
contest.on('verdict', (verdict) => publish(FIGURES, { type: 'verdict', verdict }));
contest.on('load', (load) => publish(FIGURES, { type: 'load', load }));
feed.on('sample', (sample) => publish(FIGURES, { type: 'feed', sample }));
feed.on('stalled', (stalled) => publish(FIGURES, { type: 'stalled', stalled }));
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stop);
console.log(`reactor-ws demo: http://localhost:${port}`);

/** Prints an error of the start as one sentence. */
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
      return greet(socket, cut(message.name, LONGEST_NAME) || 'guest', message.room);
    case 'room':
      return visitors.has(socket) && enter(socket, message.room);
    case 'echo':
      return send(socket, message);
    case 'chat':
      return say(visitors.get(socket), cut(message.text, LONGEST_LINE));
    case 'block':
      return contest.block();
    case 'stall':
      return feed.stall();
    case 'load':
      return contest.setLoad(message);
    default:
      return socket.close(1008, 'unknown message');
  }
}

function greet(socket, name, room) {
  if (visitors.has(socket)) return;
  visitors.set(socket, { name, room: null });
  watch();
  const { history, load } = contest;
  send(socket, { type: 'welcome', history, load, feed: feed.history, rooms: ROOMS });
  socket.subscribe(FIGURES);
  enter(socket, room);
}

/** Moves a visitor from one room into another. */
function enter(socket, wanted) {
  const visitor = visitors.get(socket);
  const room = ROOMS.includes(wanted) ? wanted : ROOMS[0];
  if (room === visitor.room) return;
  if (visitor.room !== null) {
    socket.unsubscribe(visitor.room);
    announce(visitor, 'left');
  }
  visitor.room = room;
  // Messages behind this one are of that room.
  send(socket, { type: 'room', room });
  socket.subscribe(room, { since: 'oldest' });
  announce(visitor, 'joined');
}

function leave(socket) {
  const visitor = visitors.get(socket);
  if (!visitors.delete(socket)) return;
  watch();
  announce(visitor, 'left');
}

/** Runs load and feed while somebody looks. */
function watch() {
  for (const part of [contest, feed]) part.setWatched(visitors.size > 0);
}

function say(visitor, text) {
  if (visitor !== undefined && text !== '') publish(visitor.room, { type: 'chat', from: visitor.name, text });
}

function announce({ name, room }, what) {
  publish(room, { type: 'chat', from: null, text: `${name} ${what}` });
}

function publish(topic, message) {
  sockets.publish(topic, JSON.stringify(message));
}

function send(socket, message) {
  if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(message));
}

function cut(text, length) {
  return typeof text === 'string' ? text.trim().slice(0, length) : '';
}

function stop() {
  contest.stop();
  feed.stop();
  http.close();
  sockets.close();
  for (const socket of sockets.clients) socket.close(1001);
  http.closeIdleConnections();
}

// Authentication by a session cookie. POST /login?name=ada sets the cookie, and only clients
// with that cookie get a WebSocket.

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

import { WebSocketServer } from 'reactor-ws';

const sessions = new Map(); // id: name. In a real program: Redis, or a database
const server = new WebSocketServer({ noServer: true, maxPayload: 64 * 1024 });

const http = createServer((request, response) => {
  const url = new URL(request.url, 'http://localhost');
  if (request.method !== 'POST' || url.pathname !== '/login') return response.writeHead(404).end();
  const id = randomUUID();
  sessions.set(id, url.searchParams.get('name')); // after the password was checked
  response.setHeader('Set-Cookie', `session=${id}; HttpOnly; SameSite=Strict; Path=/`).end('welcome');
});

http.on('upgrade', (request, socket, head) => {
  const name = isSameOrigin(request) ? sessions.get(cookie(request, 'session')) : undefined;
  if (name === undefined) return refuse(socket);
  server.handleUpgrade(request, socket, head, (ws) => server.emit('connection', ws, request, name));
});

server.on('connection', (socket, request, name) => {
  socket.on('error', console.error);
  socket.on('message', (data) => socket.send(`${name}: ${data}`));
});

/** Until handleUpgrade has the socket, it needs an 'error' listener of yours. */
function refuse(socket) {
  socket.on('error', () => {});
  socket.end('HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
}

/** A page of another site must not use the cookie. Programs that are no browsers send no Origin. */
function isSameOrigin({ headers }) {
  if (headers.origin === undefined) return true;
  return URL.canParse(headers.origin) && new URL(headers.origin).host === headers.host;
}

function cookie({ headers }, name) {
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='));
  return pairs.find(([key]) => key === name)?.[1];
}

http.listen(process.env.PORT ?? 8080, () => console.log(`listening on port ${http.address().port}`));

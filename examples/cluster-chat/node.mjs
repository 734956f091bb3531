// A node of the chat: the page, its module, and a topic that all nodes share.

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';

import { createClient } from 'redis';
import { WebSocketServer } from 'reactor-ws';
import { redisAdapter } from 'reactor-ws/redis';

const page = readFileSync(new URL('page.html', import.meta.url));
const module = readFileSync(fileURLToPath(import.meta.resolve('reactor-ws/client')));
let ports = [];

const http = createServer(({ url }, response) => {
  if (url === '/client.mjs') response.setHeader('Content-Type', 'text/javascript').end(module);
  else if (url === '/ports') response.end(JSON.stringify(ports));
  else response.setHeader('Content-Type', 'text/html; charset=utf-8').end(page);
});

const client = createClient({ socket: { path: process.env.REDIS_SOCKET } });
client.on('error', () => {}); // It tries again, and the server reports it below.
client.connect();

const server = new WebSocketServer({
  server: http,
  adapter: redisAdapter({ client }),
  pingInterval: 30_000,
  topicOptions: () => ({ history: 1000, ttl: 10 * 60_000, slow: 'catch-up', limit: 256 * 1024 }),
});
server.topicsProtocol({ authorize: (socket, action, topic) => topic === 'chat', maxBytes: 16 * 1024 });
server.on('adapter', ({ type, error }) => console.log(`port ${http.address().port}: ${type}`, error?.message ?? ''));

http.listen(process.env.PORT, '127.0.0.1', () => process.send(http.address().port));
process.on('message', (all) => (ports = all));
process.on('disconnect', () => process.exit());

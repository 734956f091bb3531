// A chat whose page misses no message: it comes back with the position of the last one that it has.

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';

import { WebSocketServer } from 'reactor-ws';

const page = readFileSync(new URL('resume.html', import.meta.url));
const module = readFileSync(fileURLToPath(import.meta.resolve('reactor-ws/client')));
const http = createServer(({ url }, response) => {
  if (url === '/client.mjs') response.setHeader('Content-Type', 'text/javascript').end(module);
  else response.setHeader('Content-Type', 'text/html; charset=utf-8').end(page);
});

const server = new WebSocketServer({
  server: http,
  pingInterval: 30_000,
  topicOptions: () => ({ history: 1000, ttl: 10 * 60_000, slow: 'catch-up', limit: 256 * 1024 }),
});
server.topicsProtocol({ authorize: (socket, action, topic) => topic === 'chat', maxBytes: 16 * 1024 });

http.listen(process.env.PORT ?? 8080, () => console.log(`listening on port ${http.address().port}`));

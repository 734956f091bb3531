// A chat whose page misses no message: it comes back with the position of the last one that it has.

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

import { WebSocketServer } from 'reactor-ws';

const page = readFileSync(new URL('resume.html', import.meta.url));
const http = createServer((request, response) => response.setHeader('Content-Type', 'text/html; charset=utf-8').end(page));

const server = new WebSocketServer({
  server: http,
  maxPayload: 16 * 1024,
  pingInterval: 30_000,
  topicOptions: () => ({
    history: 1000,
    ttl: 10 * 60_000,
    slow: 'catch-up',
    limit: 256 * 1024,
    stamp: { before: '{"id":"$epoch:$offset","data":', after: '}' },
  }),
});

server.on('connection', (socket, request) => {
  const since = positionIn(request.url);
  socket.on('error', console.error);
  socket.on('gap', () => socket.send('{"missed":true}'));
  socket.subscribe('chat', { since }, ({ recovered, position: { epoch, offset } }) => {
    // A new page begins here; `missed` means that the page was away for too long.
    if (!recovered) socket.send(JSON.stringify({ id: `${epoch}:${offset}`, missed: since !== null }));
  });
  socket.on('message', (data) => server.publish('chat', JSON.stringify(data.toString())));
});

http.listen(process.env.PORT ?? 8080, () => console.log(`listening on port ${http.address().port}`));

/** A peer may send anything: text that is no position becomes one that does not exist. */
function positionIn(url) {
  const text = new URL(url, 'http://localhost').searchParams.get('since');
  if (text === null) return null;
  const [, epoch = '', offset = '0'] = /^([\w-]+):(\d{1,15})$/.exec(text) ?? [];
  return { epoch, offset: Number(offset) };
}

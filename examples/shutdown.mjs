// A shutdown that comes to its end. close() of a server refuses new connections, but open ones keep
// the process alive: close them as well.

import { createServer } from 'node:http';

import { WebSocketServer } from 'reactor-ws';

const PATIENCE_MS = Number(process.env.PATIENCE_MS ?? 5000);

const http = createServer((request, response) => response.end('hello\n'));
const server = new WebSocketServer({ server: http });

server.on('connection', (socket) => {
  socket.on('error', console.error);
  socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
});

http.listen(process.env.PORT ?? 8080, () => console.log(`listening on port ${http.address().port}`));

for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, shutdown);

function shutdown() {
  http.close(() => {
    console.log('no more connections');
    // In a worker of a cluster, also PM2's, the channel would keep the process alive.
    process.disconnect?.();
  });
  server.close();
  http.closeIdleConnections();
  // Messages sent before leave first. 1001 means "going away": clients may connect again.
  for (const socket of server.clients) socket.close(1001, 'restart');
  // A peer that does not answer is cut off after this time.
  setTimeout(() => {
    for (const socket of server.clients) socket.terminate();
    http.closeAllConnections();
  }, PATIENCE_MS).unref();
}

// The entry for HttpArena's echo-ws and echo-ws-pipeline.
import cluster from 'node:cluster';
import { availableParallelism } from 'node:os';
import { WebSocketServer } from 'reactor-ws';

if (cluster.isPrimary) {
  // A worker has two threads.
  const count = Math.max(1, availableParallelism() >> 1);
  for (let i = 0; i < count; i++) cluster.fork();
  console.log('Application started.');
} else {
  const server = new WebSocketServer({ port: 8080, path: '/ws', reusePort: true });
  server.on('connection', (socket) => {
    socket.on('error', () => {});
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
  });
}

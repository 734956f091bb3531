// One port, several processes. A message to all goes through the primary, since each
// worker knows only its own clients.

import cluster from 'node:cluster';
import { availableParallelism } from 'node:os';

import { WebSocketServer } from 'reactor-ws';

if (cluster.isPrimary) {
  // A worker has two threads: half as many workers as processors is a start.
  const count = Number(process.env.WORKERS ?? Math.max(1, availableParallelism() >> 1));
  const workers = Array.from({ length: count }, () => cluster.fork());
  cluster.on('message', (_, text) => workers.forEach((worker) => worker.isConnected() && worker.send(text)));
  cluster.on('exit', (worker, code) => console.log(`worker ${worker.process.pid} ended with ${code}`));
  process.once('SIGTERM', () => workers.forEach((worker) => worker.kill()));
} else {
  const server = new WebSocketServer({ port: process.env.PORT ?? 8080 });
  server.on('connection', (socket) => {
    socket.on('error', console.error);
    socket.on('message', (data) => process.send(`${process.pid}: ${data}`));
  });
  server.on('listening', () => console.log(`worker ${process.pid} listening on port ${server.address().port}`));
  process.on('message', (text) => server.clients.forEach((client) => client.send(text)));
}

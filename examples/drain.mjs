// A shutdown without a stampede: SIGTERM closes the clients over ten seconds, and refuses new ones.

import { WebSocketServer } from 'reactor-ws';

const { DURATION = 10_000, LISTEN_FDS, PORT = 8080 } = process.env;
// Descriptor 3 is the first socket of systemd.
const server = new WebSocketServer({ port: LISTEN_FDS ? { fd: 3 } : PORT, closeTimeout: 5000 }, () => {
  console.log(`listens on ${JSON.stringify(server.address())}`);
});

server.on('connection', (socket) => {
  socket.on('error', console.error);
  socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
});

process.once('SIGTERM', async () => {
  // Another instance has the same socket, and accepts those that come.
  if (LISTEN_FDS) server.close();
  console.log(await server.drain({ duration: Number(DURATION), signal: AbortSignal.timeout(25_000) }));
  process.exit();
});

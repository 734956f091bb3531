// A shutdown without a stampede: SIGTERM closes the clients over ten seconds, and refuses new ones.

import { WebSocketServer } from 'reactor-ws';

const { DURATION = 10_000, PORT = 8080 } = process.env;
const server = new WebSocketServer({ port: PORT, closeTimeout: 5000 }, () => console.log(`port ${server.address().port}`));

server.on('connection', (socket) => {
  socket.on('error', console.error);
  socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
});

process.once('SIGTERM', async () => {
  console.log(await server.drain({ duration: Number(DURATION), signal: AbortSignal.timeout(25_000) }));
  process.exit();
});

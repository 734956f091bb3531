// The same state for everybody, ten times a second: prepared once, sent to all.

import { WebSocketServer, prepare } from 'reactor-ws';

const INTERVAL_MS = 100;
const server = new WebSocketServer({ port: process.env.PORT ?? 8080, perMessageDeflate: { compressor: 'shared' } });

server.on('connection', (socket) => socket.on('error', console.error));
server.on('listening', () => console.log(`listening on port ${server.address().port}`));

setInterval(() => {
  const state = { time: new Date().toISOString(), clients: server.clients.size };
  const message = prepare(JSON.stringify(state));
  for (const client of server.clients) client.send(message);
}, INTERVAL_MS);

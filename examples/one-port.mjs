// Pages and sockets of one port, with the network of both on the reactors: what is no
// WebSocket goes to an HTTP server that does not listen.

import { createServer } from 'node:http';

import { WebSocketServer } from 'reactor-ws';

const http = createServer((request, response) => response.end('hello\n'));
const server = new WebSocketServer({ port: process.env.PORT ?? 8080, http, path: '/live' });

server.on('connection', (socket) => {
  socket.on('error', console.error);
  socket.send('welcome');
});

server.on('listening', () => console.log('listening on', server.address()));

process.once('SIGTERM', async () => {
  await server.drain({ duration: 1000 });
  server.close();
  http.closeAllConnections();
});

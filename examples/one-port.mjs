// Pages and sockets of one port, with the network of both on the reactors: what is no
// WebSocket goes to the HTTP server, which does not listen.

import { createServer } from 'node:http';

import { WebSocketServer, listen } from 'reactor-ws';

const http = createServer((request, response) => response.end('hello\n'));
const server = new WebSocketServer({ server: http, path: '/live' });

server.on('connection', (socket) => {
  socket.on('error', console.error);
  socket.send('welcome');
});

const port = listen(http, { port: process.env.PORT ?? 8080 }, () => console.log('listening on', port.address()));

process.once('SIGTERM', async () => {
  port.close();
  await server.drain({ duration: 1000 });
  server.close();
  http.closeAllConnections();
});

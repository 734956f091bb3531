// Pages and WebSockets on one port.

import { createServer } from 'node:http';

import { WebSocketServer } from 'reactor-ws';

const http = createServer((request, response) => response.end('hello\n'));
const server = new WebSocketServer({ server: http, path: '/live' });

server.on('connection', (socket) => {
  socket.on('error', console.error);
  socket.send('welcome');
});

http.listen(process.env.PORT ?? 8080, () => console.log('listening on', http.address()));

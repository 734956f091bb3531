// An echo server. Try it: node echo.mjs, then open a WebSocket to
// ws://localhost:8080 from a browser's console.

import { WebSocketServer } from 'reactor-ws';

const server = new WebSocketServer({ port: process.env.PORT ?? 8080 });

server.on('connection', (socket, request) => {
  console.log(`connected: ${request.socket.remoteAddress} ${request.url}`);
  socket.on('error', console.error);
  socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
  socket.on('close', (code) => console.log(`closed: ${code}`));
});

server.on('listening', () => console.log('listening on', server.address()));

// Express and a WebSocketServer on one port.

import { createServer } from 'node:http';

import express from 'express';
import { WebSocketServer, listen } from 'reactor-ws';

const app = express();
app.get('/hello', (request, response) => response.json({ hello: 'world' }));

const http = createServer(app);
const server = new WebSocketServer({ server: http, path: '/live' });

server.on('connection', (socket) => {
  socket.on('error', console.error);
  socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
});

// Not app.listen(), which would make a server of its own.
const port = listen(http, { port: process.env.PORT ?? 8080 }, () => console.log(`listening on port ${port.address().port}`));

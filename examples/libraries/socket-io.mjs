// socket.io takes the class of its WebSocketServer as an option, and an adapter, with which its rooms are topics.

import { createServer } from 'node:http';

import { WebSocketServer, listen } from 'reactor-ws';
import { reactorAdapter } from 'reactor-ws/socket.io';
import { Server } from 'socket.io';

const http = createServer();
const io = new Server(http, { wsEngine: WebSocketServer, adapter: reactorAdapter() });

io.on('connection', (socket) => {
  socket.on('join', (room, done) => {
    socket.join(room);
    done();
  });
  socket.on('say', (room, text) => io.to(room).emit('said', text));
});

const port = listen(http, { port: process.env.PORT ?? 8080 }, () => console.log(`listening on port ${port.address().port}`));

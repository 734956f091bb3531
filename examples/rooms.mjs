// A chat with rooms. Messages are JSON: { join: 'room' }, { leave: 'room' }, { room: 'room', text: 'hello' }.

import { WebSocketServer } from 'reactor-ws';

const SLOW = 1024 * 1024;
const rooms = new Map(); // name: the Set of its sockets
const server = new WebSocketServer({ port: process.env.PORT ?? 8080, maxPayload: 16 * 1024, pingInterval: 30_000 });

server.on('connection', (socket) => {
  const joined = new Set();
  socket.on('error', console.error);
  socket.on('message', (data) => {
    const message = parse(data);
    if (typeof message?.join === 'string') join(socket, joined, message.join);
    else if (typeof message?.leave === 'string') leave(socket, joined, message.leave);
    else if (joined.has(message?.room)) say(message.room, message.text);
    else socket.close(1008, 'unknown message');
  });
  socket.on('close', () => joined.forEach((name) => leave(socket, joined, name)));
});

server.on('listening', () => console.log(`listening on port ${server.address().port}`));

function join(socket, joined, name) {
  if (joined.size === 100) return;
  joined.add(name);
  if (!rooms.has(name)) rooms.set(name, new Set());
  rooms.get(name).add(socket);
}

function leave(socket, joined, name) {
  const room = rooms.get(name);
  joined.delete(name);
  room?.delete(socket);
  if (room?.size === 0) rooms.delete(name);
}

/** The message is made once; the loop sends the same data to all, and so it is copied once. */
function say(name, text) {
  const message = JSON.stringify({ room: name, text });
  for (const socket of rooms.get(name)) {
    // Whoever does not read is left out, or memory would grow.
    if (socket.bufferedAmount < SLOW) socket.send(message);
  }
}

function parse(data) {
  try {
    return JSON.parse(data.toString());
  } catch {
    return null;
  }
}

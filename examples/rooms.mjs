// A chat with rooms. Messages are JSON: { join: 'room' }, { leave: 'room' },
// { room: 'room', text: 'hello' }.

import { WebSocketServer } from 'reactor-ws';

const server = new WebSocketServer({
  port: process.env.PORT ?? 8080,
  maxPayload: 16 * 1024,
  pingInterval: 30_000,
  // A client that does not read misses messages: in a queue they would fill memory.
  topicOptions: () => ({ slow: 'drop', limit: 1024 * 1024 }),
});

server.on('connection', (socket) => {
  socket.on('error', console.error);
  socket.on('message', (data) => {
    const message = parse(data);
    if (typeof message?.join === 'string') join(socket, message.join);
    else if (typeof message?.leave === 'string') socket.unsubscribe(message.leave);
    else if (typeof message?.room === 'string' && socket.isSubscribed(message.room)) say(message);
    else socket.close(1008, 'unknown message');
  });
});

server.on('listening', () => console.log(`listening on port ${server.address().port}`));

function join(socket, room) {
  if (socket.subscriptions.length < 100) socket.subscribe(room);
}

function say({ room, text }) {
  server.publish(room, JSON.stringify({ room, text }));
}

function parse(data) {
  try {
    return JSON.parse(data.toString());
  } catch {
    return null;
  }
}

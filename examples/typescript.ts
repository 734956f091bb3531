// A class of your own for connections. node typescript.ts (Node 22.18 and later run
// TypeScript; before, use tsx or tsc)

import { WebSocket, WebSocketServer } from 'reactor-ws';

class User extends WebSocket {
  name = 'guest';
  messages = 0;
}

const server = new WebSocketServer({ port: Number(process.env.PORT ?? 8080), WebSocket: User });

server.on('connection', (user, request) => {
  user.name = new URL(request.url ?? '/', 'http://localhost').searchParams.get('name') ?? user.name;
  user.on('error', console.error);
  user.on('message', (data) => {
    user.messages += 1;
    user.send(`${user.name} ${user.messages}: ${data}`);
  });
});

server.on('listening', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') console.log(`listening on port ${address.port}`);
});

// The same as a module.
import { WebSocket, WebSocketServer } from 'reactor-ws';

const server = new WebSocketServer({ port: 0, host: '127.0.0.1' }, () => {
  const client = new WebSocket(`ws://127.0.0.1:${server.address().port}`);
  client.on('open', () => client.send('hello'));
  client.on('message', (data) => {
    console.log(`echo: ${data}`);
    client.close();
    server.close();
  });
});
server.on('connection', (socket) => socket.on('message', (data) => socket.send(data)));

// A client that says hello. node client.mjs ws://localhost:8080

import { WebSocket } from 'reactor-ws';

const socket = new WebSocket(process.argv[2] ?? 'ws://localhost:8080');

socket.on('error', console.error);
socket.on('open', () => socket.send('hello'));
socket.on('message', (data) => {
  console.log(data.toString());
  socket.close();
});

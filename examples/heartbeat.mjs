// Ends connections whose peer has vanished: after one interval of silence the reactor sends a ping,
// after another one it ends the connection.

import { WebSocketServer } from 'reactor-ws';

const pingInterval = Number(process.env.PING_INTERVAL ?? 30_000);
const server = new WebSocketServer({ port: process.env.PORT ?? 8080, pingInterval });

server.on('connection', (socket) => {
  socket.on('error', console.error);
  socket.on('pong', () => console.log('alive'));
  socket.on('close', (code) => console.log(code === 1006 ? 'gone' : `closed: ${code}`));
});

server.on('listening', () => console.log(`listening on port ${server.address().port}`));

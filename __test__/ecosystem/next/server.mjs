// A custom server of Next.js, with a chat on its port. With --tls the port is the reactor's.
import { createServer } from 'node:http';

import next from 'next';
import { WebSocketServer, listen } from 'reactor-ws';

import { cert, key } from '../../helpers/certificate.mjs';

const app = next({ dev: process.argv.includes('--dev'), dir: import.meta.dirname });
await app.prepare();
const handle = app.getRequestHandler();
const upgrade = app.getUpgradeHandler();
const server = createServer((request, response) => handle(request, response));
const chat = new WebSocketServer({ noServer: true });

server.on('upgrade', (request, socket, head) => {
  if (new URL(request.url, 'http://localhost').pathname !== '/live') return upgrade(request, socket, head);
  return chat.handleUpgrade(request, socket, head, (ws) => chat.emit('connection', ws, request));
});

chat.on('connection', (socket) => {
  socket.subscribe('all');
  socket.on('error', console.error);
  socket.on('message', (data) => {
    const text = data.toString();
    if (text === 'which') return void socket.send('closeCause' in socket ? 'reactor-ws' : 'ws');
    socket.publish('all', text);
    socket.send(`you: ${text}`);
  });
});

const place = { port: 0, host: '127.0.0.1' };
if (process.argv.includes('--tls')) {
  const listener = listen(server, { ...place, tls: { cert, key } }, () => console.log(`https://127.0.0.1:${listener.address().port}`));
} else {
  server.listen(place, () => console.log(`http://127.0.0.1:${server.address().port}`));
}

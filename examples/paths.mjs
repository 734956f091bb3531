// Two servers on one port, each for its path. Other paths get a 404.

import { createServer } from 'node:http';

import { WebSocketServer } from 'reactor-ws';

const http = createServer((request, response) => response.writeHead(404).end());
const servers = {
  '/echo': new WebSocketServer({ noServer: true }),
  '/time': new WebSocketServer({ noServer: true, maxPayload: 1024 }),
};

servers['/echo'].on('connection', (socket) => {
  socket.on('error', console.error);
  socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
});

servers['/time'].on('connection', (socket) => {
  socket.on('error', console.error);
  socket.send(new Date().toISOString());
});

http.on('upgrade', (request, socket, head) => {
  const { pathname } = new URL(request.url, 'http://localhost');
  const server = Object.hasOwn(servers, pathname) ? servers[pathname] : null;
  if (server === null) {
    socket.on('error', () => {});
    socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
    return;
  }
  server.handleUpgrade(request, socket, head, (ws) => server.emit('connection', ws, request));
});

http.listen(process.env.PORT ?? 8080, () => console.log(`listening on port ${http.address().port}`));

// Hocuspocus 4 on an HTTP server, with our server: attach(new Hocuspocus({ ... }), http).

import { WebSocketServer } from 'reactor-ws';

export function attach(hocuspocus, http) {
  const server = new WebSocketServer({ server: http });
  server.on('connection', (socket, { headers, url }) => {
    const connection = hocuspocus.handleConnection(socket, new Request(`http://localhost${url}`, { headers }));
    socket.on('message', (data) => connection.handleMessage(data));
    socket.on('close', (code, reason) => connection.handleClose({ code, reason: reason.toString() }));
    socket.on('error', console.error);
  });
  return server;
}

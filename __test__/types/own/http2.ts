// WebSockets over HTTP/2.
import { createSecureServer, createServer } from 'node:http2';
import { WebSocketServer, emitUpgrades } from 'ws';

export const server = createSecureServer({ allowHTTP1: true });
export const wss = new WebSocketServer({ server, path: '/live' });
emitUpgrades(createServer());

const chosen = new WebSocketServer({ noServer: true });
server.on('stream', (stream, headers) => {
  chosen.handleConnect(stream, headers, (socket, request) => socket.send(`${request.httpVersion} ${request.headers.host}`));
});

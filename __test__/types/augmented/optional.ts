// A program that adds members to the class, as most do: they may be missing.
import Default, { WebSocket, WebSocketServer } from 'ws';

declare module 'ws' {
  interface WebSocket {
    isAlive?: boolean;
    tags?: Set<string>;
  }
}

const wss = new WebSocketServer({ port: 0 });
wss.on('connection', (ws: WebSocket) => {
  ws.isAlive = true;
  ws.on('pong', () => (ws.isAlive = true));
});
setInterval(() => {
  wss.clients.forEach((ws: WebSocket) => {
    if (!ws.isAlive) return ws.terminate();
    ws.isAlive = false;
  });
}, 1000);

export const named: WebSocket = new WebSocket('ws://127.0.0.1:1/');
export const kept: Default = named;
named.tags = new Set(['a']);

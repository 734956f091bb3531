// CommonJS modules and ES modules of one program that add the same members; see module.mts.
import { ClientOptions, WebSocket, WebSocketServer } from 'ws';

declare module 'ws' {
  interface WebSocket {
    userId: string;
  }
  interface ClientOptions {
    tenant?: string;
  }
}

const options: ClientOptions = { tenant: 'a' };
export const nameOf = (ws: WebSocket): string => ws.userId;
export const client: WebSocket = new WebSocket('ws://127.0.0.1:1/', options) as WebSocket;
client.userId = 'a';

new WebSocketServer({ port: 0 }).on('connection', (ws: WebSocket) => (ws.userId = nameOf(ws)));

import Default, { ClientOptions, WebSocket, WebSocketServer } from 'ws';

import { client, nameOf } from './commonjs.js';

declare module 'ws' {
  interface WebSocket {
    userId: string;
  }
  interface ClientOptions {
    tenant?: string;
  }
}

const options: ClientOptions = { tenant: 'a' };
const wss = new WebSocketServer({ port: 0 });
wss.on('connection', (ws) => (ws.userId = nameOf(ws)));
for (const ws of wss.clients) ws.userId.length;
const own: WebSocket = new Default('ws://127.0.0.1:1/', options);
// Either module may pass its class to the other one.
nameOf(own);
export const both: WebSocket[] = [own, client];

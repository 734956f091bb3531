// Members that `declare module` adds belong to every connection, under each name of the class, also
// when they are not optional.
import Default, { Event, Server, WebSocket, WebSocketServer } from 'ws';

declare module 'ws' {
  interface WebSocket {
    userId: string;
  }
  interface ServerOptions {
    region?: string;
  }
}

class Mine extends WebSocket {
  label = '';
}

const wss = new WebSocketServer({ port: 0, region: 'eu' });
wss.on('connection', (ws) => (ws.userId = 'a'));
wss.on('connection', (ws: WebSocket) => (ws.userId = 'a'));
wss.on('connection', (ws: Default) => (ws.userId = 'a'));
for (const ws of wss.clients) ws.userId.length;
const named: WebSocket = new WebSocket('ws://127.0.0.1:1/');
const main: Default = new Default('ws://127.0.0.1:1/');
named.userId = main.userId;
named.onopen = (event: Event) => event.target.userId;
const mine: Server<typeof Mine> = new WebSocketServer({ WebSocket: Mine });
mine.on('connection', (ws) => (ws.label = ws.userId));
// @ts-expect-error No such member.
mine.on('connection', (ws) => ws.other);
export const servers: [WebSocketServer, WebSocketServer<typeof Mine>] = [wss, mine];

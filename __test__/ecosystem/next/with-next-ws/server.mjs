// A custom server of Next.js for next-ws, whose WebSocketServer it makes.
import 'next/dist/server/node-environment-baseline.js'; // which next-ws needs before it is loaded

import { createServer } from 'node:http';

import next from 'next';
import { setHttpServer, setWebSocketServer } from 'next-ws/server';
import { WebSocketServer } from 'reactor-ws';

const server = createServer((request, response) => handle(request, response));
setHttpServer(server);
setWebSocketServer(new WebSocketServer({ noServer: true }));

const app = next({ dev: process.argv.includes('--dev'), dir: import.meta.dirname });
const handle = app.getRequestHandler();
await app.prepare();
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));

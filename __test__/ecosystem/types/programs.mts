// Programs of packages that import 'ws', as their users write them; types.test.mjs compiles it with
// this package in the place of ws. All values from 'ws' have to be of one class.
import { createServer } from 'node:http';

import { WebSocketTransport } from '@colyseus/ws-transport';
import fastifyWebsocket, { type WebSocket as RouteSocket } from '@fastify/websocket';
import { Hocuspocus, Server as HocuspocusServer } from '@hocuspocus/server';
import { WsAdapter } from '@nestjs/platform-ws';
import { initTRPC } from '@trpc/server';
import { applyWSSHandler } from '@trpc/server/adapters/ws';
import { Server as Engine, attach } from 'engine.io';
import fastify from 'fastify';
import { buildSchema } from 'graphql';
import { makeHandler } from 'graphql-ws/use/@fastify/websocket';
import { type Extra, useServer } from 'graphql-ws/use/ws';
import { reactorAdapter } from 'reactor-ws/socket.io';
import { Server as SocketIo } from 'socket.io';
import { Adapter } from 'socket.io-adapter';
import WebpackDevServer from 'webpack-dev-server';
import WebSocket, { WebSocketServer, type ServerOptions } from 'ws';

const http = createServer();
const wss = new WebSocketServer({ server: http, path: '/graphql' });
const schema = buildSchema('type Query { hello: String }');

// graphql-ws
const disposable = useServer(
  { schema, onConnect: ({ extra }) => (extra satisfies Extra).socket.readyState === WebSocket.OPEN },
  wss,
);
disposable.dispose();

// @fastify/websocket
const app = fastify();
app.register(fastifyWebsocket, {
  options: { maxPayload: 1024, verifyClient: (info, next) => next(info.req.url !== '') } satisfies ServerOptions,
});
app.get('/', { websocket: true }, (socket, request) => {
  const same: WebSocket = socket;
  socket.on('message', (data, isBinary) => same.send(data, { binary: isBinary }));
  socket.on('close', (code, reason) => request.log.info({ code, reason: reason.toString() }));
});
app.get('/graphql', { websocket: true }, makeHandler({ schema }));
app.websocketServer.clients.forEach((client: WebSocket) => client.close());
export const kept: RouteSocket[] = [...app.websocketServer.clients];

// Hocuspocus
const hocuspocus = new Hocuspocus({ async onConnect({ request }) { request.url; } });
wss.on('connection', (socket, request) => hocuspocus.handleConnection(socket, request));
new HocuspocusServer({ port: 0 }).webSocketServer.close();

// socket.io and engine.io
const io = new SocketIo(http, { wsEngine: WebSocketServer, perMessageDeflate: { threshold: 1024 } });
io.on('connection', (socket) => socket.emit('hello'));
new SocketIo({ adapter: reactorAdapter() }).adapter(reactorAdapter(Adapter));
const engine: Engine = attach(http, { wsEngine: WebSocketServer });
engine.on('connection', (socket) => socket.send('hello'));

// tRPC
const t = initTRPC.create();
const router = t.router({ hello: t.procedure.query(() => 'hello') });
applyWSSHandler({ wss, router, createContext: ({ req, res }) => ({ url: req.url, state: res.readyState }) });

// NestJS, Colyseus, webpack-dev-server
new WsAdapter().bindClientConnect(wss, () => {});
new WebSocketTransport({ server: http, pingInterval: 1000 });
export type DevSocket = NonNullable<WebpackDevServer['webSocketServer']>['clients'][number];

// Servers: ways to make them, their hooks and their events.
import { IncomingMessage, Server as HttpServer, createServer } from 'node:http';
import { createServer as createSecure } from 'node:https';
import { Duplex } from 'node:stream';

import WebSocket, { AddressInfo, PerMessageDeflateOptions, ServerOptions, WebSocketServer } from 'ws';
import type { Server, VerifyClientCallbackAsync, VerifyClientCallbackSync } from 'ws';

export const servers: WebSocketServer[] = [
  new WebSocketServer(),
  new WebSocketServer({ port: 0 }),
  new WebSocketServer({ port: 0 }, () => console.log('listening')),
  new WebSocketServer({ server: createServer(), clientTracking: true, perMessageDeflate: true }),
  new WebSocketServer({ server: createSecure({}) }),
  new WebSocketServer({ noServer: true, perMessageDeflate: {} }),
  new WebSocketServer({
    noServer: true,
    perMessageDeflate: {
      serverNoContextTakeover: true,
      clientNoContextTakeover: true,
      serverMaxWindowBits: 10,
      clientMaxWindowBits: 10,
      concurrencyLimit: 10,
      zlibDeflateOptions: { flush: 0, finishFlush: 0, chunkSize: 1, windowBits: 9, level: 0, memLevel: 1, strategy: 0, info: false },
      zlibInflateOptions: { chunkSize: 1024 },
    },
  }),
];

export function verifies(): ServerOptions[] {
  const sync: VerifyClientCallbackSync = ({ origin, req, secure }) => secure || origin === req.headers.origin;
  const later: VerifyClientCallbackAsync = (info, callback) => callback(info.secure, 403, 'No', { 'X-Why': 'because' });
  const written = (_info: { origin: string; secure: boolean; req: IncomingMessage }, done: (ok: boolean) => void): void => done(true);
  const loose = (_info: any, done: any) => done(true, 123, 'message', { Upgrade: 'websocket' });
  return [
    { verifyClient: sync },
    { verifyClient: later },
    { verifyClient: written },
    { verifyClient: loose },
    { verifyClient: async (info, callback) => callback(info.req.url !== undefined) },
    { verifyClient: undefined, handleProtocols: (protocols: Set<string>, _request: IncomingMessage) => [...protocols][0] ?? false },
  ];
}

/** Options as a program passes them on. */
export function passes(options: ServerOptions): HttpServer {
  const { port } = options;
  const host: string | undefined = options.host;
  const path: string | undefined = options.path;
  const deflate: boolean | PerMessageDeflateOptions | undefined = options.perMessageDeflate;
  console.log(path, typeof deflate === 'object' && deflate.threshold);
  options.server?.close();
  console.log(port);
  return createServer().listen({ host, backlog: options.backlog });
}

export function events(wss: WebSocketServer): void {
  wss.on('connection', (ws, request) => console.log(ws.readyState, request.socket.remoteAddress));
  wss.once('connection', (ws, request) => ws.send(request.url ?? ''));
  wss.off('connection', (ws, request) => ws.send(request.url ?? ''));
  wss.addListener('connection', (ws, request) => {
    // @ts-expect-error It is a boolean.
    request.aborted === 10;
    ws.terminate();
    request.destroy();
  });
  wss.removeListener('connection', (ws, request) => ws.ping(request.method));
  wss.on('headers', (headers, request) => headers.push(`X-Path: ${request.url}`));
  wss.once('headers', (headers) => headers.push('a: b'));
  wss.addListener('wsClientError', (error, socket, request) => socket.end(error.message + request.url));
  wss.once('wsClientError', (_error: Error, socket: Duplex) => socket.destroy());
  wss.once('error', (error) => console.log(error.name));
  wss.off('close', () => {});
  wss.on('listening', function () {
    console.log(this.address(), this.clients.size);
  });
  for (const ws of wss.clients) if (ws.readyState === WebSocket.OPEN) ws.send('all');
}

export function addresses(wss: WebSocketServer): number | string | undefined {
  const address = wss.address();
  if (typeof address === 'string') return address;
  const { port } = wss.address() as AddressInfo;
  return address?.port ?? port;
}

export function upgrades(http: HttpServer, wss: WebSocketServer): void {
  http.on('upgrade', async (request, socket, head) => {
    if (await wss.shouldHandle(request)) wss.handleUpgrade(request, socket, head, (ws) => wss.emit('connection', ws, request));
  });
  wss.shouldHandle = async (request) => request.url === wss.path;
  wss.shouldHandle = (request: IncomingMessage) => request.url === wss.options.path;
  wss.close((error?: Error) => console.log(error?.message));
  wss.close();
}

/** A connection may be kept by the type of either name. */
export function both(wss: WebSocketServer, all: Set<WebSocket>): void {
  wss.on('connection', (ws: WebSocket) => all.add(ws));
  all = wss.clients;
  const other: Server = wss;
  other.clients.forEach((ws: WebSocket) => ws.close());
}

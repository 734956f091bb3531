// The module by `import = require`, and its names as those of a namespace.
import * as http from 'node:http';

import WebSocket = require('ws');
import * as all from 'ws';

const ws: WebSocket = new WebSocket('ws://127.0.0.1:1/');
const named: all.WebSocket = new all.WebSocket('ws://127.0.0.1:1/');
const wss = new WebSocket.Server({ server: http.createServer() });
const other: all.WebSocketServer = new all.WebSocketServer({ port: 0 });
const third: WebSocket.WebSocketServer = new WebSocket.WebSocketServer();
const sockets: Array<WebSocket | WebSocket.WebSocket> = [ws, named];

wss.on('connection', (client: WebSocket, request: http.IncomingMessage) => {
  client.on('message', (message) => console.log('%s', message, request.url));
  client.send('a', { binary: false }, (error?: Error) => console.log(error));
  sockets.push(client);
});
WebSocket.createWebSocketStream(ws, { highWaterMark: 1 });

export function close(server: WebSocket.Server = wss): WebSocket.AddressInfo | string | null {
  third.close();
  other.close();
  return server.address();
}

export type Names = [
  WebSocket.AddressInfo,
  WebSocket.CertMeta,
  WebSocket.ClientOptions,
  WebSocket.CloseEvent,
  WebSocket.Data,
  WebSocket.ErrorEvent,
  WebSocket.Event,
  WebSocket.EventListenerOptions,
  WebSocket.FinishRequestCallback,
  WebSocket.MessageEvent,
  WebSocket.PerMessageDeflateOptions,
  WebSocket.RawData,
  WebSocket.Server<typeof WebSocket>,
  WebSocket.ServerOptions<typeof WebSocket, typeof http.IncomingMessage>,
  WebSocket.VerifyClientCallbackAsync<http.IncomingMessage>,
  WebSocket.VerifyClientCallbackSync<http.IncomingMessage>,
  WebSocket.WebSocket,
  WebSocket.WebSocketEventMap,
  WebSocket.WebSocketServer,
];

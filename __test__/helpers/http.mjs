// HTTP servers of Node with the implementation under test behind them.
import { once } from 'node:events';
import http from 'node:http';

import { visitor } from './clients.mjs';
import { httpServer } from './handoff.mjs';
import { WebSocketServer } from './impl.mjs';

/** The answer to a request for another page than `/`. */
export const NO_PAGE = { statusCode: 404, body: 'no such page' };

/** An HTTP server on a free port, which the end of the test closes with all its connections. */
export async function startHttp(t) {
  const server = httpServer(t, (request, response) => {
    response.writeHead(request.url === '/' ? 200 : 404).end(request.url === '/' ? 'home' : NO_PAGE.body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/** A WebSocketServer behind an HTTP server. */
export async function start(t, options) {
  const server = await startHttp(t);
  return { server, wss: new WebSocketServer({ server, ...options }) };
}

export function open(t, server, path = '/', options = {}) {
  return visitor(t, `ws://127.0.0.1:${server.address().port}${path}`, options);
}

export async function openPair(t, options) {
  const { server, wss } = await start(t, options);
  const client = open(t, server);
  const [[ws, request]] = await Promise.all([once(wss, 'connection'), once(client, 'open')]);
  return { client, request, server, ws, wss };
}

export async function get(server, path, options = {}) {
  const request = http.get({ port: server.address().port, host: '127.0.0.1', path, ...options });
  const [response] = await once(request, 'response');
  const chunks = await response.toArray();
  return { statusCode: response.statusCode, body: Buffer.concat(chunks).toString() };
}

export const connections = (server) => new Promise((resolve) => server.getConnections((_, count) => resolve(count)));

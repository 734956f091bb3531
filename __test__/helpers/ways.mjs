// One server, for each way in of its connections.
import { once } from 'node:events';
import http from 'node:http';

import { cert, key } from './certificate.mjs';
import { WebSocketServer, isReference, startServer } from './impl.mjs';
import { expectTls } from './secure-ports.mjs';
import { wrapUpgrades } from './wrapped.mjs';

async function startBehind(options, { port = 0, host = '127.0.0.1', server = http.createServer() }) {
  const wss = new WebSocketServer({ server, ...options });
  server.listen(port, host);
  await once(server, 'listening');
  return { server, wss };
}

/** A WebSocketServer behind an HTTP server of Node. */
export async function startServerBehind(t, options, where = {}) {
  const { server, wss } = await startBehind(options, where);
  wss.on('connection', (socket) => socket.on('error', () => {}));
  t.teardown(() => {
    for (const client of wss.clients ?? []) client.terminate();
    wss.close();
    server.close();
  });
  return wss;
}

/** With TLS on its port; the clients of these helpers know that. */
async function startSecure(t, options) {
  const server = await startServer(t, { tls: { cert, key }, ...options });
  expectTls(t, server.address().port);
  return server;
}

/** Ways to start a server, by name: `(t, options) => server`. */
export const WAYS = {
  port: startServer,
  server: startServerBehind,
  stream: async (t, options) => wrapUpgrades(await startServerBehind(t, options)),
};

/** For tests whose clients are all of these helpers, and in their process. */
export const ALL_WAYS = { ...WAYS, ...(isReference ? {} : { tls: startSecure }) };

/** A test for each way in; `body` gets its start of a server, and its name. `test` is ava's. */
export function everyWay(test, title, body, ways = WAYS) {
  for (const [way, start] of Object.entries(ways)) test(`${way}: ${title}`, (t) => body(t, start, way));
}

/** The same with TLS. */
export function allWays(test, title, body) {
  everyWay(test, title, body, ALL_WAYS);
}

/** A server for a fixture, by one of these ways; the process can end once it is closed. */
export async function serve(way = 'port', options = {}) {
  const wss = await WAYS[way]({ teardown() {} }, options);
  if (way === 'port') return wss;
  const http = wss._server;
  return wss.on('close', () => http.close());
}

// One server, for each way in of its connections.
import { once } from 'node:events';
import http from 'node:http';

import { WebSocketServer, startServer } from './impl.mjs';
import { wrapUpgrades } from './wrapped.mjs';

async function startBehind(options) {
  const server = http.createServer();
  const wss = new WebSocketServer({ server, ...options });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, wss };
}

/** A WebSocketServer behind an HTTP server of Node. */
export async function startServerBehind(t, options) {
  const { server, wss } = await startBehind(options);
  wss.on('connection', (socket) => socket.on('error', () => {}));
  t.teardown(() => {
    for (const client of wss.clients ?? []) client.terminate();
    wss.close();
    server.close();
  });
  return wss;
}

/** Ways to start a server, by name: `(t, options) => server`. */
export const WAYS = {
  port: startServer,
  server: startServerBehind,
  stream: async (t, options) => wrapUpgrades(await startServerBehind(t, options)),
};

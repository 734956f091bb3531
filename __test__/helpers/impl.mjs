// The implementation under test: this package, or with WS_IMPL=ws the `ws` that it is compared
// with.
import { once } from 'node:events';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

export const isReference = process.env.WS_IMPL === 'ws';
/** Whether connections are spread over several reactors, with no order between them. */
export const isSpread = !isReference && Number(process.env.REACTOR_WS_REACTORS ?? 1) > 1;

/** Whether there is no reactor thread. */
export const isInline = process.env.REACTOR_WS_REACTORS === '0' && process.platform !== 'win32';
export const implementation = require(isReference ? 'ws' : '../../lib/index.js');
export const { WebSocketServer, listen } = implementation;

/**
 * A server on a free port of the loopback, which the end of the test
 * closes together with its clients.
 */
export async function startServer(t, options = {}) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', ...options });
  server.on('connection', (socket) => socket.on('error', () => {}));
  t.teardown(() => {
    for (const client of server.clients ?? []) client.terminate();
    server.close();
  });
  await once(server, 'listening');
  return server;
}

// The implementation under test: this package, or with WS_IMPL=ws the `ws` to compare with.
import { once } from 'node:events';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

export const isReference = process.env.WS_IMPL === 'ws';
/** Whether connections are spread over several reactors, with no order between them. */
export const isSpread = !isReference && Number(process.env.REACTOR_WS_REACTORS ?? 1) > 1;

/** Whether there is no reactor thread. */
export const isInline = process.env.REACTOR_WS_REACTORS === '0' && process.platform !== 'win32';
/** Whether `send()` can write to the kernel before it returns. */
export const isWrittenAtOnce = isInline || (process.env.REACTOR_WS_REACTORS === 'auto' && process.platform !== 'win32');
export const implementation = require(isReference ? 'ws' : '../../lib/index.js');
export const { WebSocketServer, listen } = implementation;

/** A server on a free port of the loopback; the end of the test closes it and its clients. */
export async function startServer(t, options = {}, Server = WebSocketServer) {
  const server = new Server({ port: 0, host: '127.0.0.1', ...options });
  server.on('connection', (socket) => socket.on('error', () => {}));
  t.teardown(() => {
    for (const client of server.clients ?? []) client.terminate();
    server.close();
  });
  await once(server, 'listening');
  return server;
}

/** Listens on a free port of the loopback, until the end of the test; returns the port. */
export async function listenFree(t, server) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return server.address().port;
}

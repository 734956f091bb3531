// HTTP servers on free ports of the loopback, and waiting.
import { once } from 'node:events';
import { createServer } from 'node:http';

/** Starts to listen; the end of the test closes the server and its remaining connections. */
export async function listen(t, server = createServer()) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    server.close();
    server.closeAllConnections();
  });
  return server.address().port;
}

/** The next `count` argument lists of an event. */
export function nextEvents(emitter, event, count) {
  return new Promise((resolve) => {
    const seen = [];
    emitter.on(event, function listener(...args) {
      seen.push(args);
      if (seen.length < count) return;
      emitter.off(event, listener);
      resolve(seen);
    });
  });
}

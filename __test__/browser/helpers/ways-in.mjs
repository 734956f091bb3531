// A page to run in, and servers for it, one for each way in.
import { once } from 'node:events';
import http from 'node:http';

import { TOPIC_WAYS } from '../../helpers/topics.mjs';

/** Each function listens, and returns the WebSocketServer and the address of its sockets. */
export const WAYS_IN = { port: startOf('port', 'ws'), server: startOf('server', 'ws'), 'https server': startOf('https', 'wss') };

function startOf(way, scheme) {
  return async (t, options) => {
    const wss = await TOPIC_WAYS[way]({ teardown: (undo) => t.after(undo) }, options);
    const { port } = wss.address();
    return { wss, url: `${scheme}://127.0.0.1:${port}/` };
  };
}

/** A page to run in, with an origin to send. */
export async function startOrigin(t) {
  const server = http.createServer((_request, response) => {
    response.setHeader('Content-Type', 'text/html').end('<!doctype html><title>test</title>');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${server.address().port}/`;
}

// A page to run in, and servers for it, one for each way in.
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';

import { WebSocketServer } from '../../../lib/index.mjs';
import { cert, key } from '../../helpers/certificate.mjs';

/** Each function listens, and returns the WebSocketServer and the address of its sockets. */
export const WAYS_IN = {
  port: async (t, options) => {
    const wss = new WebSocketServer({ port: 0, host: '127.0.0.1', ...options });
    t.after(() => wss.close());
    await once(wss, 'listening');
    return { wss, url: `ws://127.0.0.1:${wss.address().port}/` };
  },
  server: async (t, options) => {
    const { port, wss } = await listen(t, http.createServer(), options);
    return { wss, url: `ws://127.0.0.1:${port}/` };
  },
  'https server': async (t, options) => {
    const { port, wss } = await listen(t, https.createServer({ cert, key }), options);
    return { wss, url: `wss://127.0.0.1:${port}/` };
  },
};

async function listen(t, server, options) {
  const wss = new WebSocketServer({ server, ...options });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const client of wss.clients) client.terminate();
  });
  return { wss, port: server.address().port };
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

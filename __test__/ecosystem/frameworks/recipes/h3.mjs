// An HTTP server for an application of h3 2, with its WebSocket handlers on our server.

import { createServer } from 'node:http';

import wsAdapter from 'reactor-ws/crossws';
import { toNodeHandler } from 'srvx/node';

export function serve(app) {
  const { handleUpgrade } = wsAdapter({ resolve: async (request) => (await app.fetch(request)).crossws });
  return createServer(toNodeHandler(app.fetch)).on('upgrade', (request, socket, head) => handleUpgrade(request, socket, head));
}

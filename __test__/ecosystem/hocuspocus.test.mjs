// Hocuspocus requires 'ws' itself: it gets reactor-ws by an override.
import test from 'node:test';

import { HocuspocusProvider, HocuspocusProviderWebsocket } from '@hocuspocus/provider';
import { Server } from '@hocuspocus/server';
import { Doc } from 'yjs';

import { exerciseHocuspocus } from './helpers/documents.mjs';
import { assertOurs } from './helpers/on-reactor.mjs';

test('Hocuspocus: two documents converge, and hear what the server says', async (t) => {
  const names = [];
  const server = new Server({
    address: '127.0.0.1',
    port: 0,
    quiet: true,
    stopOnSignals: false,
    onConnect: async ({ documentName }) => names.push(documentName),
  });
  assertOurs(server.webSocketServer);
  await server.listen();
  t.after(() => server.destroy());
  const port = server.httpServer.address().port;
  await exerciseHocuspocus(t, { Doc, HocuspocusProvider, HocuspocusProviderWebsocket, hocuspocus: server.hocuspocus, names, port });
});

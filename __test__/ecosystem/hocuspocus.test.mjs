// Hocuspocus requires 'ws' itself: it gets reactor-ws by an override.
import assert from 'node:assert/strict';
import test from 'node:test';

import { HocuspocusProvider, HocuspocusProviderWebsocket } from '@hocuspocus/provider';
import { Server } from '@hocuspocus/server';
import { Doc } from 'yjs';

import { converge, until } from './helpers/documents.mjs';
import { RealWebSocket, assertOnReactor, assertOurs } from './helpers/on-reactor.mjs';

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
  const [first, second] = [new Doc(), new Doc()];
  const providers = [first, second].map((document) => {
    const url = `ws://127.0.0.1:${server.httpServer.address().port}`;
    const websocketProvider = new HocuspocusProviderWebsocket({ url, WebSocketPolyfill: RealWebSocket });
    const provider = new HocuspocusProvider({ websocketProvider, name: 'essay', document });
    provider.attach();
    t.after(() => {
      provider.destroy();
      websocketProvider.destroy();
      document.destroy();
    });
    return provider;
  });
  await Promise.all(providers.map((provider) => until(provider, 'synced', () => provider.isSynced)));
  await converge(first, second);
  assert.deepEqual(names, ['essay', 'essay']);
  await assertOnReactor(2);

  const stateless = new Promise((resolve) => providers[1].on('stateless', resolve));
  server.hocuspocus.documents.get('essay').broadcastStateless('news');
  assert.equal((await stateless).payload, 'news');
});

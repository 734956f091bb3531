// Hocuspocus 4 gets its sockets from the application. Its own `Server` makes one with a copy of ws that is inside of
// crossws: https://github.com/ueberdosis/hocuspocus/blob/main/packages/server/src/Server.ts
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import test from 'node:test';

import { HocuspocusProvider, HocuspocusProviderWebsocket } from '@hocuspocus/provider';
import { Hocuspocus } from '@hocuspocus/server';
import { Doc } from 'yjs';

import { converge, until } from '../helpers/documents.mjs';
import { listen } from '../helpers/http.mjs';
import { RealWebSocket, assertOnReactor } from '../helpers/on-reactor.mjs';
import { attach } from './recipes/hocuspocus.mjs';

test('Hocuspocus 4: two documents converge, and hear what the server says', async (t) => {
  const names = [];
  const hocuspocus = new Hocuspocus({ quiet: true, onConnect: async ({ documentName }) => void names.push(documentName) });
  const http = createServer();
  attach(hocuspocus, http);
  const port = await listen(t, http);
  const [first, second] = [new Doc(), new Doc()];
  const providers = [first, second].map((document) => {
    const websocketProvider = new HocuspocusProviderWebsocket({ url: `ws://127.0.0.1:${port}`, WebSocketPolyfill: RealWebSocket });
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
  hocuspocus.documents.get('essay').broadcastStateless('news');
  assert.equal((await stateless).payload, 'news');
});

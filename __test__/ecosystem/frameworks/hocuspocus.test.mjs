// Hocuspocus 4 gets its sockets from the application. Its own `Server` makes one with a copy of ws that is inside of
// crossws: https://github.com/ueberdosis/hocuspocus/blob/main/packages/server/src/Server.ts
import { createServer } from 'node:http';
import test from 'node:test';

import { HocuspocusProvider, HocuspocusProviderWebsocket } from '@hocuspocus/provider';
import { Hocuspocus } from '@hocuspocus/server';
import { Doc } from 'yjs';

import { exerciseHocuspocus } from '../helpers/documents.mjs';
import { listen } from '../helpers/http.mjs';
import { attach } from './recipes/hocuspocus.mjs';

test('Hocuspocus 4: two documents converge, and hear what the server says', async (t) => {
  const names = [];
  const hocuspocus = new Hocuspocus({ quiet: true, onConnect: async ({ documentName }) => void names.push(documentName) });
  const http = createServer();
  attach(hocuspocus, http);
  await exerciseHocuspocus(t, { Doc, HocuspocusProvider, HocuspocusProviderWebsocket, hocuspocus, names, port: await listen(t, http) });
});

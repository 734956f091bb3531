// The server of y-websocket gets its sockets from the application.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import test from 'node:test';

import { WebSocketServer } from 'reactor-ws';

import { converge, until } from './helpers/documents.mjs';
import { listen } from './helpers/http.mjs';
import { RealWebSocket, assertOnReactor } from './helpers/on-reactor.mjs';

// Its server is CommonJS, and there must be only one Yjs.
const require = createRequire(import.meta.url);
const { WebsocketProvider } = require('y-websocket');
const { docs, setupWSConnection } = require('y-websocket/bin/utils');
const { Doc } = require('yjs');

test('y-websocket: two documents converge, and see each other come and go', async (t) => {
  const http = createServer();
  const wss = new WebSocketServer({ server: http });
  wss.on('connection', setupWSConnection);
  const port = await listen(t, http);
  // The server keeps its documents, and each of them a timer.
  t.after(() => docs.forEach((doc) => doc.destroy()));
  const [first, second] = [new Doc(), new Doc()];
  const providers = [first, second].map((doc) => {
    const options = { WebSocketPolyfill: RealWebSocket, disableBc: true };
    const provider = new WebsocketProvider(`ws://127.0.0.1:${port}`, 'room', doc, options);
    t.after(() => {
      provider.destroy();
      doc.destroy();
    });
    return provider;
  });
  await Promise.all(providers.map((provider) => until(provider, 'sync', () => provider.synced)));
  await converge(first, second);
  await assertOnReactor(2);

  const [{ awareness: here }, { awareness: there }] = providers;
  here.setLocalStateField('name', 'ada');
  await until(there, 'change', () => there.getStates().get(first.clientID)?.name === 'ada');
  providers[0].disconnect();
  await until(there, 'change', () => !there.getStates().has(first.clientID));
  providers[0].connect();
  await until(providers[0], 'sync', () => providers[0].synced);
  await assertOnReactor(2);
});

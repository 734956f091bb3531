// The server of y-websocket 3 is a package of its own, and gets its sockets from the application.
import { createServer } from 'node:http';
import test from 'node:test';

import { docs, setupWSConnection } from '@y/websocket-server/utils';
import { WebSocketServer } from 'reactor-ws';
import { WebsocketProvider } from 'y-websocket';
import { Doc } from 'yjs';

import { converge, until } from '../helpers/documents.mjs';
import { listen } from '../helpers/http.mjs';
import { RealWebSocket, assertOnReactor } from '../helpers/on-reactor.mjs';

test('y-websocket 3: two documents converge, and see each other come and go', async (t) => {
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

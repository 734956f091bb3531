// Checks of two clients of one Yjs document.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';

import { listen } from './http.mjs';
import { RealWebSocket, WebSocketServer, assertOnReactor } from './on-reactor.mjs';

const LONG = 'a longer paragraph. '.repeat(20_000);

/** Both documents write at the same time; afterwards they are the same, and have everything. */
export async function converge(first, second) {
  for (let index = 0; index < 200; index++) {
    first.getText('text').insert(0, 'a');
    second.getText('text').insert(0, 'b');
    first.getMap('map').set(`first ${index}`, index);
    second.getMap('map').set(`second ${index}`, index);
  }
  first.getArray('list').push([new Uint8Array([1, 2, 3])]);
  second.getText('long').insert(0, LONG);
  const done = (doc) => doc.getText('text').length === 400 && doc.getText('long').length === LONG.length;
  const whole = (doc) => done(doc) && doc.getMap('map').size === 400 && doc.getArray('list').length === 1;
  await Promise.all([first, second].map((doc) => until(doc, 'update', () => whole(doc))));
  assert.equal(first.getText('text').toString(), second.getText('text').toString());
  assert.deepEqual(first.getMap('map').toJSON(), second.getMap('map').toJSON());
  assert.deepEqual(second.getArray('list').get(0), new Uint8Array([1, 2, 3]));
  assert.equal(first.getText('long').toString(), LONG);
}

/** The event that makes a condition true, if it is not yet. */
export function until(emitter, event, isTrue) {
  if (isTrue()) return undefined;
  return new Promise((resolve) => {
    emitter.on(event, function check() {
      if (!isTrue()) return;
      emitter.off(event, check);
      resolve();
    });
  });
}

/** Two clients of y-websocket, whose server gets its sockets from the application: they converge, and see each other come and go. */
export async function exerciseY(t, { Doc, WebsocketProvider, docs, setupWSConnection }) {
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
}

/** Two clients of Hocuspocus: they converge, and hear what the server says. `names`: of the documents that clients have asked for. */
export async function exerciseHocuspocus(t, { Doc, HocuspocusProvider, HocuspocusProviderWebsocket, hocuspocus, names, port }) {
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
}

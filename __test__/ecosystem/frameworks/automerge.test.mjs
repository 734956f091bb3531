// The server adapter of automerge-repo gets the server from the application.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import test from 'node:test';

import { Repo } from '@automerge/automerge-repo';
import { WebSocketClientAdapter, WebSocketServerAdapter } from '@automerge/automerge-repo-network-websocket';
import { WebSocketServer } from 'reactor-ws';

import { until } from '../helpers/documents.mjs';
import { assertOnReactor } from '../helpers/on-reactor.mjs';

test('automerge-repo: two documents converge', async (t) => {
  const wss = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(wss, 'listening');
  const server = new Repo({ network: [new WebSocketServerAdapter(wss)], sharePolicy: async () => true });
  const url = `ws://127.0.0.1:${wss.address().port}`;
  const repos = [1, 2].map(() => new Repo({ network: [new WebSocketClientAdapter(url)], sharePolicy: async () => true }));
  t.after(async () => {
    await Promise.all([...repos, server].map((repo) => repo.shutdown()));
    wss.close();
    for (const client of wss.clients) client.terminate();
  });
  const first = repos[0].create({ text: '', list: [] });
  const second = await repos[1].find(first.url);
  for (let index = 0; index < 50; index++) {
    first.change((doc) => void doc.list.push(`first ${index}`));
    second.change((doc) => void doc.list.push(`second ${index}`));
  }
  await Promise.all([first, second].map((handle) => until(handle, 'change', () => handle.doc().list.length === 100)));
  assert.deepEqual(first.doc().list, second.doc().list);
  await assertOnReactor(2);
});

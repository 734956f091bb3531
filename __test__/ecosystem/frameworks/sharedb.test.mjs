// ShareDB takes a stream of JSON, which @teamwork/websocket-json-stream makes of a WebSocket.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import test from 'node:test';

import WebSocketJSONStream from '@teamwork/websocket-json-stream';
import { WebSocketServer } from 'reactor-ws';
import ShareDB from 'sharedb';
import { Connection } from 'sharedb/lib/client/index.js';

import { until } from '../helpers/documents.mjs';
import { listen } from '../helpers/http.mjs';
import { RealWebSocket, assertOnReactor } from '../helpers/on-reactor.mjs';

test('ShareDB: operations of two clients', async (t) => {
  const backend = new ShareDB();
  const http = createServer();
  new WebSocketServer({ server: http }).on('connection', (socket) => backend.listen(new WebSocketJSONStream(socket)));
  const url = `ws://127.0.0.1:${await listen(t, http)}`;
  const docs = [1, 2].map(() => {
    const socket = new RealWebSocket(url);
    t.after(() => socket.terminate());
    return new Connection(socket).get('examples', 'counter');
  });
  const call = (doc, method, ...args) => new Promise((done, fail) => doc[method](...args, (error) => (error ? fail(error) : done())));
  await call(docs[0], 'create', { clicks: 0 });
  await Promise.all(docs.map((doc) => call(doc, 'subscribe')));
  for (let index = 0; index < 50; index++) for (const doc of docs) doc.submitOp([{ p: ['clicks'], na: 1 }]);
  await Promise.all(docs.map((doc) => until(doc, 'op', () => doc.data.clicks === 100)));
  assert.deepEqual(docs.map(({ data }) => data.clicks), [100, 100]);
  await assertOnReactor(2);
});

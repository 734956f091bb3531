// AsyncLocalStorage: the events of a connection run where its 'connection' did. In ws the events
// run in no store, or in that of 'listen'.
import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';

import { cert, implementation, key, openVisitor, ownOnly, test, visitor } from '../helpers/index.mjs';

const { WebSocketServer } = implementation;
const storage = new AsyncLocalStorage();
const store = () => storage.getStore();

/** The value that each event of a connection found in the store. */
function watch(ws) {
  const seen = [];
  const look = (event) => seen.push(`${event} ${store()}`);
  ws.on('ping', () => look('ping'));
  ws.on('message', () => {
    look('message');
    ws.send('sent', () => look('sent'));
    queueMicrotask(() => look('job'));
  });
  ws.on('close', () => look('close'));
  return seen;
}

const all = (name) => ['ping', 'message', 'job', 'sent', 'close'].map((event) => `${event} ${name}`);

/** A client that pings, sends, and closes on the answer. */
async function visit(t, port, path = '', protocol = 'ws') {
  const client = await openVisitor(t, `${protocol}://127.0.0.1:${port}/${path}`, { rejectUnauthorized: false });
  client.ping();
  client.send('hello');
  await once(client, 'message');
  client.close();
  await once(client, 'close');
}

/** A server on a port that is made in a store; `undefined` means none. */
async function listening(t, name, options) {
  const make = () => new WebSocketServer({ port: 0, host: '127.0.0.1', ...options });
  const server = name === undefined ? make() : storage.run(name, make);
  t.teardown(() => server.close());
  await once(server, 'listening');
  return server;
}

async function seenBy(t, server) {
  const ended = new Promise((resolve) => {
    server.once('connection', (ws) => {
      const seen = watch(ws);
      seen.unshift(`connection ${store()}`);
      ws.on('close', () => setImmediate(resolve, seen));
    });
  });
  await visit(t, server.address().port);
  return ended;
}

// J20.
ownOnly('a port: the store in which the server was made', async (t) => {
  const one = await listening(t, 'one');
  const none = await listening(t);
  const two = await listening(t, 'two');
  for (const [server, name] of [[one, 'one'], [none, undefined], [two, 'two']]) {
    t.deepEqual(await seenBy(t, server), [`connection ${name}`, ...all(name)]);
  }
});

ownOnly('verifyClient that answers later: the store in which it does', async (t) => {
  const verifyClient = (_info, answer) => storage.run('verified', () => setImmediate(answer, true));
  const server = await listening(t, 'made', { verifyClient });
  t.deepEqual(await seenBy(t, server), ['connection verified', ...all('verified')]);
});

ownOnly('verifyClient and handleProtocols see the store of the server', async (t) => {
  const stores = [];
  const server = await listening(t, 'made', { verifyClient: () => stores.push(store()) });
  t.deepEqual(await seenBy(t, server), ['connection made', ...all('made')]);
  t.deepEqual(stores, ['made']);
});

test("a listener's run(): the store is the handler's where 'connection' finds it", async (t) => {
  const server = await listening(t);
  const found = new Promise((resolve) => {
    server.on('connection', (ws) => {
      storage.run('mine', () => ws.once('message', () => resolve(store())));
    });
  });
  const client = visitor(t, `ws://127.0.0.1:${server.address().port}`);
  client.on('open', () => client.send('hello'));
  t.is(await found, undefined);
});

for (const kind of ['http', 'https']) {
  ownOnly(`handleUpgrade (${kind}): the store in which it is called`, async (t) => {
    const httpServer = kind === 'http' ? http.createServer() : https.createServer({ cert, key });
    const wss = new WebSocketServer({ noServer: true });
    t.teardown(() => httpServer.close());
    const ended = [];
    httpServer.on('upgrade', (request, socket, head) => {
      storage.run(request.url, () => {
        wss.handleUpgrade(request, socket, head, (ws) => {
          const seen = watch(ws);
          seen.unshift(`callback ${store()}`);
          ended.push(new Promise((resolve) => ws.on('close', () => setImmediate(resolve, seen))));
        });
      });
    });
    httpServer.listen(0, '127.0.0.1');
    await once(httpServer, 'listening');
    const { port } = httpServer.address();
    const protocol = kind === 'http' ? 'ws' : 'wss';
    await Promise.all([visit(t, port, 'a', protocol), visit(t, port, 'b', protocol)]);
    const seen = (await Promise.all(ended)).sort(([a], [b]) => (a < b ? -1 : 1));
    // A stream calls back as soon as it has written: before the jobs of the handler, or after them.
    t.deepEqual(seen.map((list) => [...list].sort()), [
      ['callback /a', ...all('/a')].sort(),
      ['callback /b', ...all('/b')].sort(),
    ]);
  });
}

ownOnly('messages that were held back run in the store too', async (t) => {
  const server = await listening(t, 'made', { allowSynchronousEvents: false });
  const found = new Promise((resolve) => {
    server.on('connection', (ws) => {
      const stores = [];
      ws.pause();
      setImmediate(() => storage.exit(() => ws.resume()));
      ws.on('message', () => stores.push(store()) === 3 && resolve(stores));
    });
  });
  const client = await openVisitor(t, `ws://127.0.0.1:${server.address().port}`);
  for (const text of ['a', 'b', 'c']) client.send(text);
  t.deepEqual(await found, ['made', 'made', 'made']);
});

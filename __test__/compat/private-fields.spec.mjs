// Fields of ws that are undocumented and that programs read all the same.
import { once } from 'node:events';

import { OWN_HOST, catchUncaught, implementation, startServer, test } from '../helpers/index.mjs';

const { WebSocket, createWebSocketStream } = implementation;

/** A server's WebSocket and its client, both open. */
async function pair(t, options) {
  const server = await startServer(t, options);
  const connected = once(server, 'connection');
  const client = new WebSocket(`ws://127.0.0.1:${server.address().port}`, { perMessageDeflate: false });
  t.teardown(() => client.terminate());
  const [[ws]] = await Promise.all([connected, once(client, 'open')]);
  return { client, server, ws };
}

test('_server stands for the listener', async (t) => {
  const server = await startServer(t);
  const { _server: listener } = server;
  t.deepEqual(listener.address(), server.address());
  t.true(listener.listening);
  const order = [];
  listener.on('close', () => order.push('listener'));
  server.on('close', () => order.push('server'));
  server.close();
  t.is(server._server, null);
  await once(server, 'close');
  t.deepEqual(order, ['listener', 'server']);
  t.false(listener.listening);
  t.is(listener.address(), null);
});

test("_server: 'listening' comes after the server's", async (t) => {
  const server = new implementation.WebSocketServer({ port: 0, host: '127.0.0.1' });
  t.teardown(() => server.close());
  const order = [];
  server._server.on('listening', () => order.push('listener'));
  server.on('listening', () => order.push('server'));
  await once(server, 'listening');
  t.deepEqual(order, ['server', 'listener']);
});

test('_server.close() closes the listener', async (t) => {
  const server = await startServer(t, { host: OWN_HOST });
  const { port } = server.address();
  const closed = once(server._server, 'close');
  server._server.close();
  await closed;
  const client = new WebSocket(`ws://${OWN_HOST}:${port}`);
  const [error] = await once(client, 'error');
  t.is(error.code, 'ECONNREFUSED');
});

test('_server.unref() and ref()', async (t) => {
  const { _server: listener } = await startServer(t);
  t.is(listener.unref(), listener);
  t.is(listener.unref(), listener);
  t.is(listener.ref(), listener);
});

test('_receiver shows the limits', async (t) => {
  const limits = { maxBufferedChunks: 1024, maxFragments: 512, maxPayload: 20480, skipUTF8Validation: true };
  const { ws } = await pair(t, limits);
  const { _receiver: receiver } = ws;
  t.is(receiver._maxBufferedChunks, 1024);
  t.is(receiver._maxFragments, 512);
  t.is(receiver._maxPayload, 20480);
  t.true(receiver._skipUTF8Validation);
  t.true(receiver._isServer);
  t.true(receiver._allowSynchronousEvents);
  t.is(receiver._binaryType, 'nodebuffer');
  t.deepEqual(receiver._extensions, {});
});

for (const side of ['client', 'ws']) {
  test(`_receiver emits 'conclude' for the close frame: ${side}`, async (t) => {
    const { client, ws } = await pair(t);
    const [here, there] = side === 'ws' ? [ws, client] : [client, ws];
    const concluded = new Promise((resolve) => {
      here._receiver.on('conclude', (code, reason) => resolve([code, reason.toString(), here.readyState]));
    });
    there.close(1000, 'bye');
    t.deepEqual(await concluded, [1000, 'bye', 2]);
  });
}

test('_closeTimer is there while the closing handshake runs', async (t) => {
  const { ws } = await pair(t, { closeTimeout: 1234 });
  t.is(ws._closeTimer, null);
  ws.close();
  t.is(ws._closeTimer._idleTimeout, 1234);
});

test('bufferedAmount: _socket._writableState has the same; a close frame is not in it', async (t) => {
  const { client, ws } = await pair(t);
  client.pause();
  while (ws.bufferedAmount === 0) ws.send(Buffer.alloc(65536));
  let before;
  let length;
  // Until no more leaves between one look and the next.
  do {
    before = ws.bufferedAmount;
    ({ length } = ws._socket._writableState);
  } while (before !== ws.bufferedAmount);
  t.is(length, before);

  const idle = await pair(t);
  idle.ws.close();
  t.is(idle.ws.bufferedAmount, 0);
  idle.ws.ping('hi', () => {});
  t.is(idle.ws.bufferedAmount, 2);
});

// Serial: every uncaught exception of that time counts as its own.
test.serial("a 'connection' handler that throws does not take the client's 'open' with it", async (t) => {
  const server = await startServer(t);
  catchUncaught(t);
  const thrown = once(process, 'uncaughtException');
  server.once('connection', () => {
    throw new Error('mine');
  });
  const client = new WebSocket(`ws://127.0.0.1:${server.address().port}`);
  t.teardown(() => client.terminate());
  client.on('error', () => {});
  const opened = new Promise((resolve) => {
    client.on('open', () => resolve(true));
    client.on('close', () => resolve(false));
  });
  const [error] = await thrown;
  t.is(error.message, 'mine');
  t.is(await opened, true);
});

test('the _read and the _final of a stream may be called without their object', async (t) => {
  const { client, ws } = await pair(t);
  const stream = createWebSocketStream(client);
  const calls = new Set();
  for (const name of ['_read', '_final']) {
    const method = stream[name];
    stream[name] = (...args) => {
      method(...args);
      calls.add(name);
    };
  }
  const data = once(stream, 'data');
  ws.send('a');
  t.is(String((await data)[0]), 'a');
  stream.end();
  await once(stream, 'close');
  t.deepEqual([...calls], ['_read', '_final']);
});

test('_socket.resetAndDestroy() resets the connection', async (t) => {
  const { client, ws } = await pair(t);
  const failed = once(client._socket, 'error');
  const closed = once(ws, 'close');
  ws._socket.resetAndDestroy();
  t.is((await failed)[0].code, 'ECONNRESET');
  t.is((await closed)[0], 1006);
});

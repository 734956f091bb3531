// Fields of ws that are undocumented and that programs read all the same. Others: differential/scenarios.
import { once } from 'node:events';

import { implementation, startServer, test } from '../helpers/index.mjs';

const { WebSocket, createWebSocketStream } = implementation;

/** A server's WebSocket and its client, both open. */
async function pair(t) {
  const server = await startServer(t);
  const connected = once(server, 'connection');
  const client = new WebSocket(`ws://127.0.0.1:${server.address().port}`, { perMessageDeflate: false });
  t.teardown(() => client.terminate());
  const [[ws]] = await Promise.all([connected, once(client, 'open')]);
  return { client, server, ws };
}

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

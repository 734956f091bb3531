// The net.Socket of an upgrade request, after the upgrade: `req.socket` and `ws._socket`.
import { once } from 'node:events';
import net from 'node:net';
import v8 from 'node:v8';

import { WebSocketServer, ownOnly, test } from '../helpers/index.mjs';
import { open, openPair, startHttp } from '../helpers/http.mjs';

test('the socket that was seen before the upgrade shows the same afterwards', async (t) => {
  const server = await startHttp(t);
  const wss = new WebSocketServer({ noServer: true });
  const fieldsOf = (socket) => ({
    names: ['remoteAddress', 'remotePort', 'remoteFamily', 'localAddress', 'localPort'].map((name) => socket[name]),
    address: socket.address(),
    state: [socket.readable, socket.writable, socket.destroyed, socket.connecting, socket.pending, socket.readyState],
    encrypted: socket.encrypted,
    isSocket: socket instanceof net.Socket,
  });
  const upgraded = new Promise((resolve) => {
    server.on('upgrade', (request, socket, head) => {
      const before = fieldsOf(socket);
      wss.handleUpgrade(request, socket, head, (ws) => resolve({ before, socket, ws }));
    });
  });
  const client = open(t, server);
  await once(client, 'open');
  const { before, socket, ws } = await upgraded;
  t.deepEqual(fieldsOf(socket), before);
  t.is(ws._socket, socket);
  t.is(socket.setNoDelay(true).setKeepAlive(true, 1000).ref(), socket);
  const [read, written] = [socket.bytesRead, socket.bytesWritten];
  client.send('12345');
  await once(ws, 'message');
  t.is(socket.bytesRead, read + 11);
  // The client may have the message before it is counted.
  await Promise.all([once(client, 'message'), new Promise((resolve) => ws.send('12345', resolve))]);
  t.is(socket.bytesWritten, written + 7);
  t.is(socket.writableLength, 0);
});

test('setTimeout() of the socket', async (t) => {
  const { client, ws } = await openPair(t);
  let timeouts = 0;
  const onTimeout = () => timeouts++;
  let longest;
  // Tries again if the client was silent for too long: then there may be a timeout.
  do {
    timeouts = longest = 0;
    ws._socket.setTimeout(0, onTimeout);
    ws._socket.setTimeout(200, onTimeout);
    let last = performance.now();
    for (let i = 0; i < 6; i++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      const sent = performance.now();
      client.send('x');
      await once(ws, 'message');
      longest = Math.max(longest, performance.now() - last);
      last = sent;
    }
  } while (longest >= 200);
  t.is(ws._socket.timeout, 200);
  t.is(timeouts, 0);
  await once(ws._socket, 'timeout');
  t.is(timeouts, 1);
  t.throws(() => ws._socket.setTimeout('1'), { code: 'ERR_INVALID_ARG_TYPE' });
});

// With a layout of its own, each access takes a slow look-up.
ownOnly('sockets have one layout', async (t) => {
  v8.setFlagsFromString('--allow-natives-syntax');
  const haveSameMap = new Function('one', 'other', 'return %HaveSameMap(one, other)');
  const [one, other] = [await openPair(t), await openPair(t)];
  t.true(haveSameMap(one.ws._socket, other.ws._socket));
});

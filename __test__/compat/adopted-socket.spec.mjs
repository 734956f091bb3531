// The net.Socket of an upgrade request, after the upgrade: `req.socket` and `ws._socket`.
import { once } from 'node:events';
import net from 'node:net';

import { WebSocketServer, askRaw, frame, frames, test } from '../helpers/index.mjs';
import { open, openPair, start, startHttp } from '../helpers/http.mjs';

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

for (const [title, act] of [
  ['destroy()', (socket) => socket.destroy()],
  ['destroy(error)', (socket) => socket.destroy(new Error('mine'))],
  ['resetAndDestroy()', (socket) => socket.resetAndDestroy()],
  ['destroySoon()', (socket) => socket.destroySoon()],
]) {
  // J18.
  test(`${title} of the socket ends the connection with 1006, and 'close' comes once`, async (t) => {
    const { client, request, ws } = await openPair(t);
    let closes = 0;
    request.socket.on('close', () => closes++);
    const gone = new Promise((resolve) => request.socket.on('close', resolve));
    const ended = Promise.all([once(ws, 'close'), once(client, 'close'), gone]);
    act(request.socket);
    const [[code], [remote]] = await ended;
    t.deepEqual([code, remote, closes, request.socket.destroyed], [1006, 1006, 1, true]);
  });
}

test('write() and end() of the socket: raw bytes in order, callbacks, finish', async (t) => {
  const { server, wss } = await start(t);
  const connected = once(wss, 'connection');
  const raw = await askRaw(t, server.address().port);
  const [ws, { socket }] = await connected;
  ws.send('a');
  const written = new Promise((resolve) => socket.write(Buffer.from([0x81, 1]), resolve));
  socket.write('b');
  socket.end(frame(1, '').subarray(0, 0));
  await Promise.all([written, once(socket, 'finish')]);
  // destroySoon() looks at it.
  t.true(socket.writableFinished);
  const { code } = await new Promise((resolve) => socket.end(resolve));
  t.is(code, 'ERR_STREAM_ALREADY_FINISHED');
  await raw.closed();
  t.is(await frames(raw, 6), '810161' + '810162');
});

test("terminate() destroys the socket, the peer's end ends it", async (t) => {
  const first = await openPair(t);
  first.ws.terminate();
  t.true(first.ws._socket.destroyed);
  t.is((await once(first.request.socket, 'close'))[0], false);
  const { client, request, ws } = await openPair(t);
  const ended = Promise.all([once(request.socket, 'end'), once(ws, 'close')]);
  client._socket.end();
  t.is((await ended)[1][0], 1006);
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

// Raw bytes of a connection: `ws._socket` writes them, and reads none.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';

import { ALL_WAYS as WAYS, askRaw, connect, frame, isInline, isReference, nextEvents, startServer, test } from '../helpers/index.mjs';
import { RawClient, upgradeRequest } from '../helpers/raw-client.mjs';

async function open(t, way) {
  return connect(t, await WAYS[way](t));
}

/** Bytes and messages of the one connection that comes, from its first moment. */
function record(server) {
  return new Promise((resolve) => {
    server.on('connection', (ws) => ws.once('message', (data) => resolve({ data: String(data), ws })));
  });
}

for (const way of Object.keys(WAYS)) {
  test(`${way}: write() says when it is enough, and 'drain' follows`, async (t) => {
    const { client, ws } = await open(t, way);
    const { _socket: socket } = ws;
    let isEnough = 0;
    let calls = 0;
    let writes = 0;
    const drained = once(socket, 'drain');
    // A binary message of 70,000 bytes, more than any high-water mark: the kernel can take it at once.
    const frames = Buffer.concat([Buffer.from([0x82, 127, 0, 0, 0, 0, 0, 1, 0x11, 0x70]), Buffer.alloc(70_000, 'x')]);
    // A socket of Node says it once the kernel takes no more.
    for (; writes < 40 || isEnough === 0; writes++) isEnough += socket.write(frames, () => calls++) ? 0 : 1;
    const messages = nextEvents(client, 'message', writes);
    t.true(isEnough > (isReference ? 0 : 30), String(isEnough));
    await drained;
    t.is(calls, writes);
    t.false(socket.writableNeedDrain);
    t.is(socket.writableLength, 0);
    await messages;
    t.true(socket.write(Buffer.from([0x81, 0])));
  });

  // A Duplex is read by way of itself.
  (isReference || way === 'stream' ? test.skip : test)(`${way}: the socket reads nothing, and does not make the WebSocket read`, async (t) => {
    const { client, ws } = await open(t, way);
    const { _socket: socket } = ws;
    ws.pause();
    socket.on('data', () => t.fail());
    t.false(socket.push(frame(1, 'pushed')));
    t.false(socket.push(null));
    t.true(ws.isPaused);
    client.send('sent');
    ws.resume();
    t.is(String((await once(ws, 'message'))[0]), 'sent');
  });
}

test('bytesRead counts what the peer has sent, once', async (t) => {
  const server = await startServer(t);
  const raw = await RawClient.connect(t, server.address().port);
  const early = record(server);
  const request = upgradeRequest();
  raw.send(Buffer.concat([Buffer.from(request, 'latin1'), frame(1, 'early')]));
  const { ws } = await early;
  t.is(ws._socket.bytesRead, request.length + 11);
});

// Without a thread there is no peer to answer.
(isReference || isInline ? test.skip : test)('bytesRead of a connection that is gone stays, also when another one has come since', async (t) => {
  const server = await startServer(t, { earlyHandshake: true });
  const { port } = server.address();
  const opened = once(server, 'connection');
  const raw = await askRaw(t, port);
  const [ws, { socket }] = await opened;
  const message = once(ws, 'message');
  await raw.until((text) => text.includes('\r\n\r\n'));
  raw.send(frame(1, 'one'));
  await message;
  raw.reset();
  // Nothing is delivered meanwhile.
  const program = `require('net').connect(${port}, '127.0.0.1').once('data', () => process.exit()).write(${JSON.stringify(upgradeRequest())})`;
  execFileSync(process.execPath, ['-e', program], { timeout: 60_000 });
  await once(ws, 'close');
  t.is(socket.bytesRead, upgradeRequest().length + frame(1, 'one').length);
});

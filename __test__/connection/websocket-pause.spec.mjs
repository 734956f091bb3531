// Paused connections, beside the programs of differential/scenarios/pausing.mjs. Run with WS_IMPL=ws, the same holds for ws.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';

import { ALL_WAYS as WAYS, askRaw, WebSocketServer, connect, allWays as everyWay, frame, isInline, isReference, openPair, openRaw, startServer, test, upgradeRequest } from '../helpers/index.mjs';

/**
 * Resets a paused connection after these bytes. Returns the events that were reported by the time
 * another connection has been served.
 */
async function resetPaused(t, bytes) {
  const { server, ws, raw } = await openRaw(t);
  const log = [];
  ws.on('message', (data) => log.push(String(data)));
  ws.on('close', (code) => log.push(code));
  const closed = once(ws, 'close');
  ws.pause();
  // The writer of this message knows of the pause.
  await new Promise((resolve) => ws.send('paused', resolve));
  if (bytes.length !== 0) await raw.send(bytes);
  raw.reset();
  const { ws: other, client } = await connect(t, server);
  client.send('served');
  await once(other, 'message');
  return { ws, closed, log, reportedBefore: [...log] };
}

test('pause: a reset after a lot that is unread is reported on resume', async (t) => {
  // More than Node reads ahead.
  const text = 'x'.repeat(100);
  const { ws, closed, log, reportedBefore } = await resetPaused(t, Buffer.concat(Array.from({ length: 2000 }, () => frame(1, text))));
  t.deepEqual(reportedBefore, []);
  ws.resume();
  await closed;
  // Bytes that the kernel had not delivered are lost, and on some systems also those that it had.
  t.is(log.pop(), 1006);
  t.true(log.every((data) => data === text));
});

// Below 64 KiB, ws emits all messages, and 'close', although the WebSocket is paused.
const ownOnly = isReference || process.platform !== 'linux' ? test.skip : test;

ownOnly('pause: a reset after a little that is unread is reported on resume, and nothing is lost', async (t) => {
  const { ws, closed, log, reportedBefore } = await resetPaused(t, Buffer.concat([frame(1, 'a'), frame(1, 'b')]));
  t.deepEqual(reportedBefore, []);
  ws.resume();
  await closed;
  t.deepEqual(log, ['a', 'b', 1006]);
});

ownOnly('pause: a reset after something unread is learnt by sending', async (t) => {
  const { ws, closed, log, reportedBefore } = await resetPaused(t, frame(1, 'a'));
  t.deepEqual(reportedBefore, []);
  ws.send('anybody there?');
  await closed;
  t.deepEqual(log, [1006]);
  t.true(ws.isPaused);
});

for (const [name, start] of Object.entries(WAYS)) {
  ownOnly(`pause until 'drain', ${name}: 'close' comes when the peer goes instead, after what was read`, async (t) => {
    for (let round = 0; round < 5; round++) {
      const server = await start(t);
      const { client, ws } = await connect(t, server);
      client._socket.pause();
      const log = [];
      const closed = once(ws, 'close');
      ws.on('drain', () => ws.resume());
      ws.once('message', () => {
        while (ws.send(Buffer.alloc(100_000)));
        // Meanwhile a reactor on another thread reads messages that wait for `resume()`.
        const until = performance.now() + 10 * round;
        while (performance.now() < until);
        ws.pause();
      });
      ws.on('message', (data) => log.push(Number(data)));
      for (let n = 0; n < 3000; n++) client.send(`${n}`.padEnd(200));
      while (log.length === 0) await once(ws, 'message');
      client.terminate();
      t.is((await closed)[0], 1006);
      t.deepEqual(log, [...log.keys()]);
    }
  });
}

test('allowSynchronousEvents: false loses nothing, with pauses between', async (t) => {
  const { ws, client } = await openPair(t, { allowSynchronousEvents: false });
  // More than wait in JavaScript at a time.
  const count = 6000;
  const received = [];
  const closed = once(ws, 'close');
  ws.on('message', (data) => {
    received.push(Number(data));
    if (received.length % 500 !== 0) return;
    ws.pause();
    setImmediate(() => ws.resume());
  });
  for (let index = 0; index < count; index++) client.send(String(index));
  client.close(1000);
  await closed;
  t.deepEqual(received, [...Array(count).keys()]);
});

test('pause: a closing handshake that takes too long ends with the close frame that nobody has read', async (t) => {
  const { ws, raw } = await openRaw(t, { closeTimeout: 100 });
  const messages = [];
  ws.on('message', (data) => messages.push(data.length));
  ws.pause();
  // The pause takes effect before the bytes come.
  await new Promise((resolve) => ws.ping(resolve));
  await raw.send(Buffer.concat([frame(1, 'a'), frame(2, Buffer.alloc(100)), frame(8, Buffer.from([3, 232]))]));
  const closed = once(ws, 'close');
  ws.close(1000);
  t.is((await closed)[0], 1000);
  t.deepEqual(messages, [1, 100]);
});

/** A test in which the end waits for `closeTimeout` does not end. */
const NEVER = { closeTimeout: 2 ** 31 - 1 };

/** A connection that pauses when the peer's close frame and end have come, unreported. */
async function pausedBehindClose(t, options) {
  const opened = await openRaw(t, options);
  opened.raw.send(frame(8, Buffer.from([3, 232])));
  opened.raw.end();
  // A reactor on another thread has read it when this is over.
  const until = performance.now() + 20;
  while (performance.now() < until);
  opened.ws.pause();
  return opened;
}

test('pause: a close frame that was on its way already is learnt on resume, and so is the end after it', async (t) => {
  const { server, ws } = await pausedBehindClose(t);
  let isClosed = false;
  ws.on('close', () => {
    isClosed = true;
  });
  const closed = once(ws, 'close');
  const { ws: other, client } = await connect(t, server);
  client.send('served');
  await once(other, 'message');
  t.is(ws.readyState, ws.OPEN);
  t.false(isClosed);
  ws.resume();
  t.is((await closed)[0], 1000);
});

// With a reactor thread that has read it, the end comes at once; without, after `closeTimeout`, as in ws.
test('pause: close() after a close frame of the peer that nobody has taken ends with its code', async (t) => {
  const { ws } = await pausedBehindClose(t, { closeTimeout: 300 });
  const closed = once(ws, 'close');
  ws.close(1000);
  t.is((await closed)[0], 1000);
});

/** Node on Windows reports an end after data before setImmediate() calls back; as in ws, its socket is then not upgraded. */
const ENDS_FIRST = process.platform !== 'win32' ? [] : isReference ? Object.keys(WAYS) : ['server', 'stream'];

const { handleUpgrade } = WebSocketServer.prototype;
const hasThread = !isReference && !isInline;

for (const [hook, put] of Object.entries({
  'no hook': () => {},
  'a hook that decides at once': (server) => (server.options.verifyClient = () => true),
  'a hook that decides later': (server) => (server.options.verifyClient = (_info, decide) => setImmediate(decide, true)),
  // The reactor has answered by then.
  'a hook of which the reactor has not heard': (server) => Object.defineProperty(server, 'handleUpgrade', {
    value: (...args) => handleUpgrade.apply(server, args),
  }),
})) {
  everyWay(test.serial, `pause() in 'connection', with ${hook}: what came with the request waits, and the end after it`, async (t, start, way) => {
    if (hook === 'a hook that decides later' && ENDS_FIRST.includes(way)) return t.pass();
    const server = await start(t, {});
    put(server);
    const seen = [];
    server.once('connection', (ws) => {
      ws.pause();
      ws.on('message', (data) => seen.push(String(data)));
      ws.on('close', (code) => seen.push(code));
    });
    const connected = once(server, 'connection');
    const received = () => server.metrics().reactors?.bytesReceived;
    const before = hasThread && received();
    const raw = await askRaw(t, server.address().port, Buffer.concat([Buffer.from(upgradeRequest()), frame(1, 'a'), frame(1, 'b')]));
    raw.end();
    // All of it comes in one batch of a reactor on another thread.
    while (hasThread && way === 'port' && received() === before);
    const [ws] = await connected;
    const { ws: other, client } = await connect(t, server);
    client.send('served');
    await once(other, 'message');
    t.deepEqual(seen, []);
    const closed = once(ws, 'close');
    ws.resume();
    await closed;
    t.deepEqual(seen, ['a', 'b', 1006]);
  });
}

test('pause: what closes the connection in the same read as the pause is not waited for', async (t) => {
  const { ws, raw } = await openRaw(t, NEVER);
  ws.on('message', () => ws.pause());
  const closed = once(ws, 'close');
  raw.send(Buffer.concat([frame(1, 'a'), frame(8, Buffer.from([3, 232]))]));
  t.is((await closed)[0], 1000);
});

test('pause: after the closing handshake it keeps nobody from the end', async (t) => {
  const server = await startServer(t, NEVER);
  const socket = net.connect({ port: server.address().port, host: '127.0.0.1', allowHalfOpen: true });
  t.teardown(() => socket.destroy());
  socket.write(upgradeRequest());
  const [ws] = await once(server, 'connection');
  const closed = once(ws, 'close');
  socket.resume().on('end', () => {
    ws.pause();
    socket.end();
  });
  socket.write(frame(8, Buffer.from([3, 232])));
  t.is((await closed)[0], 1000);
});

test('stream: pause() and resume() after messages that wait to be compressed: it is read', async (t) => {
  const { client, ws } = await connect(t, await WAYS.stream(t, { perMessageDeflate: true }), { perMessageDeflate: true });
  const long = randomBytes(1 << 20);
  for (let n = 0; n < 20; n++) ws.send(long, { compress: true });
  ws.pause();
  ws.resume();
  client.send('hi');
  t.is(String((await once(ws, 'message'))[0]), 'hi');
});

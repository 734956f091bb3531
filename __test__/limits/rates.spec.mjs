// Limits for the rate of a client, and for the bytes that wait to be sent to all, on every way in.
import { createHook } from 'node:async_hooks';
import { once } from 'node:events';

import { WebSocketServer, catchUncaught, connect, connectRaw, allWays as everyWay, frame, openBy, test } from '../helpers/index.mjs';
import { RawClient, upgradeRequest } from '../helpers/raw-client.mjs';

/** The times at which `count` messages have come, in seconds from now on. */
function arrivals(ws, count) {
  const begun = performance.now();
  return new Promise((resolve) => {
    const times = [];
    ws.on('message', () => times.push((performance.now() - begun) / 1000) === count && resolve(times));
  });
}

everyWay(test.serial, 'a handler that throws does not end what is read', async (t, start) => {
  const thrown = catchUncaught(t);
  const { client, ws } = await openBy(start, t, { messagesPerSecond: 10 });
  let count = 0;
  const held = new Promise((resolve) => {
    ws.on('message', () => {
      if (++count !== 11) return;
      setImmediate(resolve);
      throw new Error('of a handler');
    });
  });
  for (let i = 0; i < 11; i++) client.send('x');
  await held;
  client.send('x');
  client.close(1000);
  const [code] = await once(ws, 'close');
  t.deepEqual([code, count, thrown.length], [1000, 12, 1]);
});

// A machine that is slow delivers later, never earlier.
everyWay(test, 'messagesPerSecond: a client that sends more is read later, and nothing is lost', async (t, start) => {
  const server = await start(t, { messagesPerSecond: 100 });
  for (const size of [1, 120]) {
    const { raw, ws } = await connectRaw(t, server);
    const arrived = arrivals(ws, 160);
    raw.send(Buffer.concat(Array.from({ length: 160 }, () => frame(2, 'x'.repeat(size)))));
    const times = await arrived;
    for (const [index, time] of times.entries()) t.true(index + 1 <= 101 + 100 * time, `${index} after ${time} s`);
  }
  const { bytes, messages } = server.metrics().tooFast;
  t.true(messages >= 2, `${messages}`);
  t.is(bytes, 0);
});

for (const limits of [{ messagesPerSecond: 100 }, { bytesPerSecond: 700 }]) {
  everyWay(test, `${Object.keys(limits)[0]}: what comes with the request is limited alike, and all of it read`, async (t, start) => {
    const server = await start(t, limits);
    const begun = performance.now();
    const all = new Promise((resolve) => {
      server.on('connection', (ws) => {
        const times = [];
        ws.on('message', () => times.push((performance.now() - begun) / 1000));
        ws.on('close', (code) => resolve({ code, times }));
      });
    });
    const raw = await RawClient.connect(t, server.address().port);
    const messages = Array.from({ length: 160 }, () => frame(2, 'x'));
    await raw.send(Buffer.concat([Buffer.from(upgradeRequest()), ...messages, frame(8, Buffer.from([3, 232]))]));
    const { code, times } = await all;
    t.is(code, 1000);
    t.is(times.length, 160);
    for (const [index, time] of times.entries()) t.true(index + 1 <= 101 + 100 * time, `${index} after ${time} s`);
  });
}

everyWay(test, 'bytesPerSecond: a client that sends more is read later, and nothing is lost', async (t, start) => {
  const { client, server, ws } = await openBy(start, t, { bytesPerSecond: 40_000 });
  const arrived = arrivals(ws, 15);
  // In one write, which one read takes: if this thread stood still between two of them, it would not be too fast.
  client._socket.cork();
  for (let i = 0; i < 15; i++) client.send(Buffer.alloc(4000 - 8));
  client._socket.uncork();
  const times = await arrived;
  for (const [index, time] of times.entries()) t.true(4000 * (index + 1) <= 40_100 + 40_000 * time, `${index} after ${time} s`);
  t.true(server.metrics().tooFast.bytes >= 1);
});

everyWay(test, "limit: 'close': 1008 with a reason after what was allowed", async (t, start) => {
  const { client, server, ws } = await openBy(start, t, { messagesPerSecond: 1000, limit: 'close' });
  const begun = performance.now();
  let count = 0;
  ws.on('message', () => count++);
  const failed = once(ws, 'error');
  const closed = once(client, 'close');
  client.on('error', () => {});
  const sending = setInterval(() => {
    for (let i = 0; i < 2000; i++) client.send('x', () => {});
  });
  t.teardown(() => clearInterval(sending));
  const [error] = await failed;
  clearInterval(sending);
  const seconds = (performance.now() - begun) / 1000;
  t.is(error.code, 'WS_ERR_TOO_MANY_MESSAGES');
  t.true(count >= 1000 && count <= 1001 + 1000 * seconds, `${count} after ${seconds} s`);
  const [code, reason] = await closed;
  t.deepEqual([code, String(reason)], [1008, 'Too many messages per second']);
  t.deepEqual(server.metrics().tooFast, { messages: 1, bytes: 0 });
  t.is(server.metrics().connections.failed.WS_ERR_TOO_MANY_MESSAGES, 1);
});

everyWay(test, 'compressed messages are limited alike', async (t, start) => {
  const server = await start(t, { messagesPerSecond: 100, perMessageDeflate: { threshold: 0 } });
  const { client, ws } = await connect(t, server, { perMessageDeflate: { threshold: 0 } });
  t.not(client.extensions, '');
  const arrived = arrivals(ws, 130);
  for (let i = 0; i < 130; i++) client.send('x'.repeat(300));
  const times = await arrived;
  for (const [index, time] of times.entries()) t.true(index + 1 <= 101 + 100 * time, `${index} after ${time} s`);
});

// Bytes that are read when they may no longer be held back would come all at once, as the very
// flood that the limit prevents.
for (const end of ['the client ends its side', 'the client resets', 'close()', 'terminate()']) {
  // Wine reports no end while bytes before it are not read.
  const tested = end === 'the client ends its side' && 'WINEPREFIX' in process.env ? test.skip : test;
  everyWay(tested, `${end}: what is held back comes at its rate, and for closeTimeout at most`, async (t, start) => {
    const server = await start(t, { messagesPerSecond: 10, closeTimeout: 400 });
    const { raw, ws } = await connectRaw(t, server);
    const [first, closed] = [once(ws, 'message'), once(ws, 'close')];
    const begun = performance.now();
    const times = [];
    ws.on('message', () => times.push((performance.now() - begun) / 1000));
    await raw.send(Buffer.concat(Array.from({ length: 3000 }, () => frame(2, 'x'))));
    await first;
    if (end === 'the client ends its side') raw.end();
    else if (end === 'the client resets') raw.reset();
    else ws[end.slice(0, -2)]();
    t.is((await closed)[0], 1006);
    for (const [index, time] of times.entries()) t.true(index + 1 <= 11 + 10 * time, `${index} after ${time} s`);
  });
}

everyWay(test, 'a paused client that has ended its side is not cut: its rate is not what holds it back', async (t, start) => {
  const server = await start(t, { messagesPerSecond: 1, closeTimeout: 50 });
  const { raw, ws } = await connectRaw(t, server);
  const first = once(ws, 'message');
  raw.send(Buffer.concat([frame(1, 'a'), frame(1, 'b')]));
  await first;
  ws.pause();
  raw.end();
  await new Promise((resolve) => setTimeout(resolve, 200));
  t.is(ws.readyState, ws.OPEN);
});

// A timer that is left would keep the process alive for as long.
everyWay(test.serial, 'the peer ends its side, and the server closes: no timer is left', async (t, start) => {
  const server = await start(t, { messagesPerSecond: 20, closeTimeout: 12_345 });
  const { raw, ws } = await connectRaw(t, server);
  const timers = [];
  const hook = createHook({
    init: (id, type, trigger, resource) => type === 'Timeout' && resource._idleTimeout === 12_345 && timers.push(resource),
  }).enable();
  t.teardown(() => hook.disable());
  let count = 0;
  ws.on('message', () => ++count === 25 && ws.close());
  const closed = once(ws, 'close');
  raw.send(Buffer.concat([...Array.from({ length: 30 }, () => frame(2, 'x')), frame(8, Buffer.from([3, 232]))]));
  raw.end();
  t.is((await closed)[0], 1000);
  t.is(count, 30);
  t.true(timers.every((timer) => timer._destroyed));
});

// A stream that is not read keeps what came before that end.
everyWay(test, 'the peer ends its side after more than a stream is read of: nothing is lost', async (t, start) => {
  const server = await start(t, { messagesPerSecond: 400 });
  const { raw, ws } = await connectRaw(t, server);
  let count = 0;
  ws.on('message', () => count++);
  const closed = once(ws, 'close');
  raw.send(Buffer.concat([...Array.from({ length: 1000 }, () => frame(2, Buffer.alloc(120))), frame(8, Buffer.from([3, 232]))]));
  raw.end();
  t.is((await closed)[0], 1000);
  t.is(count, 1000);
});

everyWay(test, 'what is not limited costs nothing', async (t, start) => {
  const server = await start(t);
  t.is(server._rates, null);
  const { ws } = await connect(t, server);
  t.falsy(ws._extra?.stream?.gate);
  t.deepEqual(server.metrics().tooFast, { messages: 0, bytes: 0 });
});

for (const [name, value, error, message] of [
  ['messagesPerSecond', '1', TypeError, /^options\.messagesPerSecond must be a number/],
  ['messagesPerSecond', -1, RangeError, /^options\.messagesPerSecond must be an integer from 0 to 2147483647/],
  ['bytesPerSecond', 1.5, RangeError, /^options\.bytesPerSecond must be an integer from 0/],
  ['limit', 'drop', TypeError, /^options\.limit must be 'pause' or 'close'/],
  ['sendBudget', true, TypeError, /^options\.sendBudget must be a number/],
  ['sendBudget', -1, RangeError, /^options\.sendBudget must be an integer from 0/],
]) {
  test(`${name}: ${value} throws`, (t) => {
    t.throws(() => new WebSocketServer({ port: 0, [name]: value }), { instanceOf: error, message });
  });
}

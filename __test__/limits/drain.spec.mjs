// wss.drain(): the clients that it closes, the times, the answers to new clients, the end.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { WebSocket, askRaw, connect, connectRaw, openBy, urlOf, visitor, wsClient } from '../helpers/clients.mjs';
import { ALL_WAYS, OWN_HOST, allWays as everyWay, onPosix, randomNumbers, startServer, test } from '../helpers/index.mjs';
import { RawClient } from '../helpers/raw-client.mjs';

const random = (seed) => {
  const next = randomNumbers(seed);
  return () => next(2 ** 31) / 2 ** 31;
};
const { Spread } = createRequire(import.meta.url)('../../lib/limits/spread.js');

/** The times of the steps of a drain that looks every 10 ms, but not while `isBusy`. */
function moments(pace, isBusy = () => false) {
  const taken = [];
  for (let now = 0; pace.left > 0; now += 10) {
    if (!isBusy(now)) for (let due = pace.take(now); due > 0; due--) taken.push(now);
  }
  return taken;
}

/** The maximum number of steps in one second, wherever that second begins. */
function most(taken) {
  let first = 0;
  return Math.max(...taken.map((moment, last) => {
    while (taken[first] <= moment - 1000) first++;
    return last - first + 1;
  }));
}

const BUSY = {
  never: () => false,
  'for 2 s': (now) => now > 3000 && now < 5000,
  'for 80 of 100 ms': (now) => now % 100 < 80,
  'for 900 of 1,000 ms': (now) => now % 1000 < 900,
  'at the end': (now) => now > 9000 && now < 12_000,
};
for (const [name, isBusy] of Object.entries(BUSY)) {
  test(`pace: 10,000 over 10 s, busy ${name}: no second has more than 1.3 of the mean`, (t) => {
    for (let seed = 1; seed <= 5; seed++) {
      const taken = moments(new Spread(10_000, 10_000, 0, random(seed)), isBusy);
      t.is(taken.length, 10_000);
      t.true(most(taken) <= 1300, `${most(taken)}`);
      if (name === 'never') t.true(taken.at(-1) > 9900 && taken.at(-1) <= 10_050, `${taken.at(-1)}`);
    }
  });
}

test('pace: moments differ from one time to the next', (t) => {
  const gaps = new Set();
  const pace = new Spread(100, 100_000, 0, random(7));
  let before = 0;
  for (const moment of moments(pace)) {
    gaps.add(moment - before);
    before = moment;
  }
  t.true(gaps.size > 20);
});

test('pace: without steps, and without a duration', (t) => {
  t.is(new Spread(0, 1000, 0).take(5000), 0);
  t.is(new Spread(1000, 0, 0).take(0), 1000);
});

everyWay(test, 'closes each client with 1012, spread, and counts', async (t, start) => {
  const server = await start(t);
  const closed = [];
  for (let i = 0; i < 20; i++) {
    const { client } = await connect(t, server);
    client.on('close', (code, reason) => closed.push(`${code} ${reason}`));
  }
  const reports = [];
  const result = await server.drain({ duration: 300, reason: 'moving', onProgress: (progress) => reports.push(progress) });
  t.deepEqual(result, { closed: 20, timedOut: 0, left: 0 });
  t.deepEqual(reports.at(-1), result);
  for (const { closed: done, left } of reports) t.is(done + left, 20);
  while (closed.length < 20) await new Promise(setImmediate);
  t.deepEqual([...new Set(closed)], ['1012 moving']);
});

everyWay(test, 'new clients get 503 and Retry-After, also those being verified', async (t, start) => {
  const asked = [];
  const server = await start(t, { verifyClient: (_info, done) => asked.push(done) });
  const opened = once(server, 'connection');
  const client = visitor(t, urlOf(server));
  while (asked.length === 0) await new Promise(setImmediate);
  asked[0](true);
  await opened;
  const waiting = await askRaw(t, server.address().port);
  while (asked.length === 1) await new Promise(setImmediate);
  const drained = server.drain({ duration: 20_000 });
  asked[1](true);
  const fresh = await askRaw(t, server.address().port);
  for (const raw of [waiting, fresh]) {
    const answer = await raw.closed();
    t.true(answer.startsWith('HTTP/1.1 503 Service Unavailable\r\n'), answer);
    const seconds = Number(/\r\nRetry-After: (\d+)\r\n/.exec(answer)[1]);
    t.true(seconds > 0 && seconds <= 20, answer);
  }
  t.is(asked.length, 2);
  client.terminate();
  t.deepEqual(await drained, { closed: 1, timedOut: 0, left: 0 });
});

everyWay(test, 'a peer that does not answer is cut off after closeTimeout', async (t, start) => {
  const server = await start(t, { closeTimeout: 100 });
  await connectRaw(t, server);
  t.deepEqual(await server.drain({ duration: 0 }), { closed: 0, timedOut: 1, left: 0 });
  t.is(server.clients.size, 0);
});

test('a stream that never closes is given up, too', async (t) => {
  const server = await ALL_WAYS.stream(t, { closeTimeout: 50 });
  const { ws } = await connectRaw(t, server);
  ws._socket._destroy = () => {};
  t.deepEqual(await server.drain({ duration: 0 }), { closed: 0, timedOut: 1, left: 0 });
});

everyWay(test, 'an aborted signal leaves the rest open', async (t, start) => {
  const { client, server, ws } = await openBy(start, t);
  const controller = new AbortController();
  const drained = server.drain({ duration: 2 ** 31 - 1, signal: controller.signal });
  controller.abort();
  t.deepEqual(await drained, { closed: 0, timedOut: 0, left: 1 });
  t.is(ws.readyState, WebSocket.OPEN);
  client.send('still here');
  t.is(String((await once(ws, 'message'))[0]), 'still here');
  // No new clients come; those that are left may be drained again.
  const raw = await askRaw(t, server.address().port);
  t.true((await raw.closed()).startsWith('HTTP/1.1 503 '));
  t.deepEqual(await server.drain({ duration: 0 }), { closed: 1, timedOut: 0, left: 0 });
});

test('a second call waits for the first; without clients it is over at once', async (t) => {
  const server = await startServer(t);
  t.deepEqual(await server.drain(), { closed: 0, timedOut: 0, left: 0 });
  const other = await startServer(t);
  await connect(t, other);
  const results = await Promise.all([other.drain({ duration: 10 }), other.drain({ duration: 1_000_000 })]);
  t.deepEqual(results[0], { closed: 1, timedOut: 0, left: 0 });
  t.is(results[1], results[0]);
});

test('a close() that throws keeps nobody else from being closed', async (t) => {
  const server = await startServer(t);
  const pairs = [await connect(t, server), await connect(t, server), await connect(t, server)];
  const controller = new AbortController();
  const drained = server.drain({ duration: 0, signal: controller.signal });
  pairs[2].ws.close = () => {
    throw new Error('mine');
  };
  const drain = server._drain;
  // The work of the timer, whose error would be uncaught.
  clearTimeout(drain.timer);
  t.throws(() => drain.step(), { message: 'mine' });
  while (server.clients.size > 1) await new Promise(setImmediate);
  controller.abort();
  t.deepEqual(await drained, { closed: 2, timedOut: 0, left: 1 });
});

everyWay(test, 'onProgress is called at the end when the last client is gone, and not within its end', async (t, start) => {
  const { server, ws } = await openBy(start, t);
  const order = [];
  ws.on('close', () => order.push("'close'"));
  await server.drain({ duration: 0, onProgress: ({ left }) => order.push(`${left} left, ${server.clients.size} listed`) });
  t.deepEqual(order, ["'close'", '0 left, 0 listed']);
});

test('wrong values are refused', async (t) => {
  const server = await startServer(t);
  const wrong = async (options, instanceOf, message) => {
    await t.throwsAsync(server.drain(options), message === undefined ? { instanceOf } : { instanceOf, message });
  };
  await wrong({ duration: '1' }, TypeError, "options.duration must be a number. Received '1'");
  await wrong({ duration: -1 }, RangeError, 'options.duration must be an integer from 0 to 2147483647. Received -1');
  await wrong(5, TypeError, 'options must be an object. Received 5');
  await wrong({ code: 5 }, TypeError, 'options.code must be a status code. Received 5');
  await wrong({ reason: null }, TypeError, 'options.reason must be a string or a Uint8Array. Received null');
  await wrong({ reason: 'x'.repeat(124) }, RangeError);
  await wrong({ onProgress: 1 }, TypeError, 'options.onProgress must be a function. Received 1');
  await wrong({ signal: {} }, TypeError, 'options.signal must be an AbortSignal. Received {}');
  const { ws } = await connect(t, server);
  t.is(ws.readyState, WebSocket.OPEN);
  const untracked = await startServer(t, { clientTracking: false });
  untracked.clients = undefined;
  await t.throwsAsync(untracked.drain(), { message: 'drain() needs clientTracking' });
  untracked.clients = [];
});

const PLAIN = 'GET / HTTP/1.1\r\nHost: example.com\r\n\r\n';
const answers = (text) => text.split('HTTP/1.1 426 ').length - 1;

/** Requests one after the other, each when the last one is answered, until the connection ends. */
async function repeat(raw) {
  const before = answers(raw.text);
  for (let count = before; count < before + 100; ) {
    raw.send(PLAIN);
    const text = await raw.untilClosedOr((all) => answers(all) > count);
    if (answers(text) === count) break;
    count = answers(text);
  }
  return raw.text;
}

test('close(): a request that has begun is answered, and none after it', async (t) => {
  const server = await startServer(t, { host: OWN_HOST });
  const raw = await RawClient.connect(t, server.address().port, OWN_HOST);
  // With the answer to the first one, the beginning of the second one has been read.
  await raw.send(PLAIN + PLAIN.slice(0, 20));
  await raw.until((text) => answers(text) === 1);
  const { _server: listener } = server;
  const closed = new Promise((resolve) => server.close(resolve));
  t.deepEqual([server.address(), listener.listening], [null, false]);
  await closed;
  await raw.send(PLAIN.slice(20));
  await raw.until((text) => answers(text) === 2);
  t.is(answers(await repeat(raw)), 2);
});

function startProgram(t, path, env) {
  const child = spawn(process.execPath, [path], { env: { ...process.env, ...env, PORT: '0' }, stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => child.exitCode === null && child.kill('SIGKILL'));
  return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
}

onPosix('examples/drain.mjs: SIGTERM closes all and ends the process', async (t) => {
  const path = fileURLToPath(new URL('../../examples/drain.mjs', import.meta.url));
  const { child, lines } = startProgram(t, path, { DURATION: '200' });
  const port = Number(/"port":(\d+)/.exec((await lines.next()).value)[1]);
  const clients = Array.from({ length: 5 }, () => new wsClient(`ws://127.0.0.1:${port}`));
  await Promise.all(clients.map((client) => once(client, 'open')));
  const codes = Promise.all(clients.map((client) => once(client, 'close').then(([code]) => code)));
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  t.deepEqual(await codes, [1012, 1012, 1012, 1012, 1012]);
  t.is((await lines.next()).value, '{ closed: 5, timedOut: 0, left: 0 }');
  t.deepEqual(await exited, [0, null]);
});

onPosix('the deployments of docs/running.md: their program ends, and leaves time for its drain', async (t) => {
  const page = readFileSync(fileURLToPath(new URL('../../docs/running.md', import.meta.url)), 'utf8');
  const [, yaml] = /<!-- kubernetes -->\n\n```yaml\n([^]*?)```/.exec(page);
  const [, command] = /command: (\[.*\])/.exec(yaml);
  const env = Object.fromEntries([...yaml.matchAll(/\{ name: (\w+), value: "(\d+)" \}/g)].map(([, name, value]) => [name, value]));
  const [node, program] = JSON.parse(command);
  t.is(node, 'node');
  t.is(env.PORT, /tcpSocket: \{ port: (\d+) \}/.exec(yaml)[1]);
  const path = fileURLToPath(new URL(`../../examples/${program}`, import.meta.url));
  const number = (text, pattern) => Number(pattern.exec(text)[1].replaceAll('_', ''));
  const source = readFileSync(path, 'utf8');
  const [closeTimeout, atMost] = [number(source, /closeTimeout: (\d+)/), number(source, /AbortSignal\.timeout\(([\d_]+)\)/)];
  // A second for the last to go.
  t.true(Number(env.DURATION) + closeTimeout + 1000 <= atMost);
  t.true(atMost <= 1000 * (number(yaml, /terminationGracePeriodSeconds: (\d+)/) - number(yaml, /preStop: .*seconds: (\d+)/)));
  t.true(atMost <= 1000 * number(page, /--stop-timeout (\d+)/) && atMost <= 1000 * number(page, /TimeoutStopSec=(\d+)/));
  const { child, lines } = startProgram(t, path, env);
  await lines.next();
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  t.is((await lines.next()).value, '{ closed: 0, timedOut: 0, left: 0 }');
  t.deepEqual(await exited, [0, null]);
});

// wss.metrics() and the text that is made of it: everything that is counted is counted once.
import { once } from 'node:events';
import { createRequire } from 'node:module';

import test from 'ava';

import { Child } from './helpers/child.mjs';
import { connect, openPair } from './helpers/clients.mjs';
import { startServer } from './helpers/impl.mjs';
import { RawClient, upgradeRequest } from './helpers/raw-client.mjs';
import { WAYS } from './helpers/ways.mjs';

const { contentType, prometheus } = createRequire(import.meta.url)('reactor-ws/prometheus');

/** What the numbers of the reactors have grown by; they are published once a turn. */
async function grown(server, before, isEnough) {
  for (;;) {
    const { reactors } = server.metrics();
    const delta = Object.fromEntries(Object.entries(reactors).map(([name, value]) => [name, value - before[name]]));
    if (isEnough(delta)) return delta;
    await new Promise(setImmediate);
  }
}

for (const [way, start] of Object.entries(WAYS)) {
  test(`by way of ${way}: connections, by how they end, and refusals`, async (t) => {
    let verdict = true;
    const server = await start(t, { verifyClient: () => verdict });
    t.deepEqual(server.metrics().connections, { open: 0, opened: 0, closed: {}, failed: {} });
    const pairs = [];
    for (let i = 0; i < 4; i++) pairs.push(await connect(t, server));
    const ended = pairs.map(({ ws }) => once(ws, 'close'));
    t.deepEqual(server.metrics().connections, { open: 4, opened: 4, closed: {}, failed: {} });
    pairs[0].client.close(1000);
    pairs[1].client.close(4001);
    pairs[2].client.terminate();
    await Promise.all(ended.slice(0, 3));
    t.deepEqual(server.metrics().connections, { open: 1, opened: 4, closed: { 1000: 1, 1006: 1, 4001: 1 }, failed: {} });
    verdict = false;
    for (let i = 0; i < 3; i++) {
      const raw = await RawClient.connect(t, server.address().port);
      raw.send(upgradeRequest());
      await raw.closed();
    }
    t.deepEqual(server.metrics().handshakes.refused, { 401: 3 });
    t.deepEqual(server.metrics().connections, { open: 1, opened: 4, closed: { 1000: 1, 1006: 1, 4001: 1 }, failed: {} });
  });
}

// The reactors serve all servers of a thread: what the other tests do would be counted too.
test.serial('messages and bytes of a connection, in both directions', async (t) => {
  const { client, server, ws } = await openPair(t);
  const before = server.metrics().reactors;
  const received = new Promise((resolve) => {
    let count = 0;
    client.on('message', () => ++count === 300 && resolve());
  });
  ws.on('message', (data) => ws.send(data));
  for (let i = 0; i < 300; i++) client.send('x'.repeat(i % 3 === 0 ? 5000 : 20));
  await received;
  const payload = 100 * 5000 + 200 * 20;
  const [header, key] = [100 * 4 + 200 * 2, 300 * 4];
  const delta = await grown(server, before, ({ bytesSent }) => bytesSent >= payload + header);
  t.is(delta.messagesReceived, 300);
  t.is(delta.messagesSent, 300);
  t.is(delta.bytesSent, payload + header);
  t.is(delta.bytesReceived, payload + header + key);
  t.true(delta.records >= 300);
  t.true(delta.batches >= 1 && delta.batches <= 300);
});

test.serial('requests that the reactor answers by itself', async (t) => {
  const server = await startServer(t);
  // Of its own: on a busy machine the others would be too late as well.
  const hasty = await startServer(t, { handshakeTimeout: 50 });
  const before = server.metrics().reactors;
  const requests = [
    [server, '\x16\x03\x01\r\n\r\n'],
    [server, 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
    [server, upgradeRequest({ 'Sec-WebSocket-Key': 'x' })],
    [hasty, 'GET / HTTP/1.1\r\n'],
  ];
  for (const [asked, request] of requests) {
    const raw = await RawClient.connect(t, asked.address().port);
    raw.send(request);
    await raw.closed();
  }
  const expected = { accepted: 4, badRequests: 1, plainRequests: 1, refused: 1, timeouts: 1 };
  const counts = (delta) => Object.fromEntries(Object.keys(expected).map((name) => [name, delta[name]]));
  // Each reactor publishes its own at the end of its turn.
  const delta = await grown(server, before, (now) => Object.keys(expected).every((name) => now[name] >= expected[name]));
  t.deepEqual(counts(delta), expected);
});

test.serial('bytesWaiting: what a client does not read', async (t) => {
  const { client, server, ws } = await openPair(t);
  client.pause();
  ws.send(Buffer.alloc(32 * 1024 * 1024));
  t.true(server.metrics().bytesWaiting > 0);
  t.is(server.metrics().bytesWaiting, ws.bufferedAmount);
  client.resume();
  while (server.metrics().bytesWaiting > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  t.pass();
});

test('histograms: each bound has what is below it', async (t) => {
  const { client, server, ws } = await openPair(t);
  for (let i = 0; i < 20; i++) {
    client.send('a');
    await once(ws, 'message');
  }
  for (const { count, sum, upTo } of [server.metrics().reactors.delay, server.metrics().reactors.turn]) {
    t.true(count >= 20 && sum > 0);
    t.is(upTo[0].seconds, 1e-6);
    for (const [index, { count: below, seconds }] of upTo.entries()) {
      t.true(below <= count && (index === 0 || (below >= upTo[index - 1].count && seconds === 2 * upTo[index - 1].seconds)));
    }
  }
});

test('without a reactor there are no numbers of one', async (t) => {
  const { stdout } = await new Child(t, 'metrics-without-reactor.mjs').ended();
  t.is(stdout, 'null\n');
});

/** The samples of the text format, after a check of its grammar. */
function samples(t, text) {
  const types = new Map();
  const found = new Map();
  t.true(text.endsWith('\n'));
  for (const line of text.slice(0, -1).split('\n')) {
    const type = /^# TYPE (\w+) (counter|gauge|histogram)$/.exec(line);
    if (type) types.set(type[1], type[2]);
    if (line.startsWith('#')) continue;
    const [, name, , labels = '', value] = /^([a-z_]+)(\{((?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)+)\})? ([0-9.e+-]+)$/.exec(line) ?? [];
    t.truthy(name, line);
    t.true(types.has(name) || types.has(name.replace(/_(bucket|sum|count)$/, '')), line);
    found.set(labels === '' ? name : `${name}{${labels}}`, Number(value));
  }
  return found;
}

test('prometheus: text with a type for every sample', async (t) => {
  const { client, server, ws } = await openPair(t, { maxConnections: 1 });
  const over = await RawClient.connect(t, server.address().port);
  await over.closed();
  client.close(4000);
  await once(ws, 'close');
  t.is(contentType, 'text/plain; version=0.0.4; charset=utf-8');
  const found = samples(t, prometheus(server, { server: 'a "b"\\\nc' }));
  const all = String.raw`server="a \"b\"\\\nc"`;
  t.is(found.get(`reactor_ws_connections{${all}}`), 0);
  t.is(found.get(`reactor_ws_connections_opened_total{${all}}`), 1);
  t.is(found.get(`reactor_ws_connections_closed_total{${all},code="4000"}`), 1);
  t.is(found.get(`reactor_ws_handshakes_denied_total{${all},reason="connections"}`), 1);
  t.true(found.get(`reactor_ws_delay_seconds_count{${all}}`) > 0);
  t.is(found.get(`reactor_ws_delay_seconds_count{${all}}`), found.get(`reactor_ws_delay_seconds_bucket{${all},le="+Inf"}`));
  t.true(samples(t, prometheus(server)).has('reactor_ws_connections'));
});

// wss.metrics() and its text form: everything is counted exactly once.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

import { Child, ALL_WAYS as WAYS, askRaw, connect, connectMany, allWays as everyWay, openPair, startServer, test } from '../helpers/index.mjs';
import { RawClient, upgradeRequest } from '../helpers/raw-client.mjs';

const load = createRequire(import.meta.url);
const { VERSION } = load('../../lib/base/layout');
const { contentType, prometheus } = load('reactor-ws/prometheus');

/** The growth of the reactors' numbers, which are published once a turn. */
async function grown(server, before, isEnough) {
  for (;;) {
    const { reactors } = server.metrics();
    const delta = Object.fromEntries(Object.entries(reactors).map(([name, value]) => [name, value - before[name]]));
    if (isEnough(delta)) return delta;
    await new Promise(setImmediate);
  }
}

/** The counts of connections that are not 0. */
function counted(server) {
  const { open, opened, closed, ended, failed } = server.metrics().connections;
  const some = (counts) => Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0));
  return { open, opened, closed: some(closed), ended: some(ended), failed: some(failed) };
}

for (const [way, start] of Object.entries(WAYS)) {
  for (const clientTracking of [true, false]) test(`by way of ${way}: connections, by how they end, and refusals, clientTracking: ${clientTracking}`, async (t) => {
    // Without close_notify, the connection may have been cut.
    const gone = way === 'tls' ? { reset: 1 } : { fin: 1 };
    let verdict = true;
    const server = await start(t, { clientTracking, verifyClient: () => verdict });
    t.deepEqual(counted(server), { open: 0, opened: 0, closed: {}, ended: {}, failed: {} });
    t.like(server.metrics().connections, { closed: { 1000: 0, 1005: 0, 1006: 0, other: 0 }, ended: { closed: 0, fin: 0 }, failed: { WS_ERR_INVALID_UTF8: 0 } });
    const pairs = await connectMany(t, server, 4);
    const ended = pairs.map(({ ws }) => once(ws, 'close'));
    t.deepEqual(counted(server), { open: 4, opened: 4, closed: {}, ended: {}, failed: {} });
    pairs[0].client.close(1000);
    pairs[1].client.close(4001);
    pairs[2].client.terminate();
    await Promise.all(ended.slice(0, 3));
    t.deepEqual(counted(server), { open: 1, opened: 4, closed: { 1000: 1, 1006: 1, other: 1 }, ended: { closed: 2, ...gone }, failed: {} });
    verdict = false;
    for (let i = 0; i < 3; i++) {
      const raw = await askRaw(t, server.address().port);
      await raw.closed();
    }
    t.deepEqual(server.metrics().handshakes.refused, { 400: 0, 401: 3, 403: 0, 404: 0, 405: 0, 426: 0, 429: 0, 431: 0, 503: 0 });
    t.deepEqual(counted(server), { open: 1, opened: 4, closed: { 1000: 1, 1006: 1, other: 1 }, ended: { closed: 2, ...gone }, failed: {} });
  });
}

// The reactors serve all servers of a thread: the traffic of the other tests would be counted too.
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
  // A server of its own: on a busy machine the others would be too late as well.
  const hasty = await startServer(t, { handshakeTimeout: 50 });
  const before = server.metrics().reactors;
  const requests = [
    [server, '\x16\x03\x01\r\n\r\n'],
    [server, 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
    [server, upgradeRequest({ 'Sec-WebSocket-Key': 'x' })],
    [hasty, 'GET / HTTP/1.1\r\n'],
  ];
  for (const [asked, request] of requests) {
    const raw = await askRaw(t, asked.address().port, request);
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
  client.resume();
  await new Promise((resolve) => ws.send('', resolve));
  t.is(server.metrics().bytesWaiting, 0);
});

/** The counts of histograms, and of the ways in which connections pause. */
function counts({ reactors: { batch, delay, handshake, pause, ratio, roundTrip, turn } }) {
  const all = { batch, delay, handshake, ratio, roundTrip, turn, ...pause };
  return Object.fromEntries(Object.entries(all).map(([name, { count }]) => [name, count]));
}

/** Resolves when the counts have grown by the expected amounts; they never grow by more. */
async function untilGrown(t, server, before, wanted) {
  for (;;) {
    const now = counts(server.metrics());
    const names = Object.keys(wanted);
    for (const name of names) t.true(now[name] - before[name] <= wanted[name], name);
    if (names.every((name) => now[name] - before[name] === wanted[name])) return;
    await new Promise(setImmediate);
  }
}

test.serial('each histogram counts what happens, from the first time on', async (t) => {
  const server = await startServer(t, { perMessageDeflate: { threshold: 0 } });
  let before = counts(server.metrics());
  const { client, ws } = await connect(t, server, { perMessageDeflate: true });
  await untilGrown(t, server, before, { handshake: 1, roundTrip: 0, ratio: 0, program: 0 });

  for (let i = 0; i < 3; i++) {
    ws.ping();
    await once(ws, 'pong');
  }
  await untilGrown(t, server, before, { handshake: 1, roundTrip: 3 });

  const { compressedFrom, compressedTo } = server.metrics().reactors;
  ws.send('x'.repeat(10_000));
  await once(client, 'message');
  await untilGrown(t, server, before, { ratio: 1 });
  const after = server.metrics().reactors;
  t.is(after.compressedFrom - compressedFrom, 10_000);
  t.true(after.compressedTo > compressedTo && after.compressedTo - compressedTo < 1000);

  for (let i = 0; i < 3; i++) {
    ws.pause();
    ws.resume();
  }
  await untilGrown(t, server, before, { program: 3, rate: 0 });

  before = counts(server.metrics());
  client.send('hello');
  await once(ws, 'message');
  const { batch, delay } = counts(server.metrics());
  t.true(batch > before.batch && delay > before.delay);
});

test.serial('a client that is held back is a pause of its rate', async (t) => {
  const server = await startServer(t, { messagesPerSecond: 20 });
  const before = server.metrics().reactors.pause.rate;
  const { client, ws } = await connect(t, server);
  let count = 0;
  const all = new Promise((resolve) => ws.on('message', () => ++count === 24 && resolve()));
  // In one write: a rate that has time to rest between two messages holds fewer of them back.
  client._socket.cork();
  for (let i = 0; i < 24; i++) client.send('x');
  client._socket.uncork();
  await all;
  const { rate } = server.metrics().reactors.pause;
  t.true(rate.count > before.count);
  // Four more than at once, and the reactor does not read early.
  t.true(rate.sum - before.sum > 0.15, `${rate.sum - before.sum} s`);
});

test.serial('texts and binary messages are told apart, also those of topics', async (t) => {
  const { client, server, ws } = await openPair(t);
  const before = server.metrics().reactors;
  const received = new Promise((resolve) => {
    let count = 0;
    client.on('message', () => ++count === 4 && resolve());
  });
  ws.subscribe('a');
  ws.send('text');
  ws.send(Buffer.from('binary'));
  server.publish('a', 'text');
  server.publish('a', Buffer.from('binary'));
  await received;
  client.send('text');
  client.send(Buffer.from('binary'));
  const delta = await grown(server, before, ({ messagesReceived, messagesSent }) => messagesReceived >= 2 && messagesSent >= 4);
  t.like(delta, { messagesReceived: 2, messagesSent: 4, textsReceived: 1, textsSent: 2 });
});

test('histograms: each bound has what is below it', async (t) => {
  const { client, server, ws } = await openPair(t);
  for (let i = 0; i < 20; i++) {
    client.send('a');
    await once(ws, 'message');
  }
  const { batch, delay, ratio, turn } = server.metrics().reactors;
  for (const { count, sum } of [batch, delay, turn]) t.true(count >= 20 && sum > 0);
  for (const [{ count, upTo }, unit, first, last] of [
    [delay, 'seconds', 1e-6, 2 ** 23 / 1e6],
    [turn, 'seconds', 1e-6, 2 ** 23 / 1e6],
    [batch, 'records', 1, 16_384],
    [ratio, 'ratio', 1 / 1024, 2],
  ]) {
    t.deepEqual([upTo[0][unit], upTo.at(-1)[unit]], [first, last]);
    for (const [index, { count: below, [unit]: bound }] of upTo.entries()) {
      t.true(below <= count && (index === 0 || (below >= upTo[index - 1].count && bound === 2 * upTo[index - 1][unit])));
    }
  }
});

test('without a reactor there are no numbers of one', async (t) => {
  const { stdout } = await new Child(t, 'metrics-without-reactor.mjs').ended();
  t.is(stdout, 'null\n');
});

/** The value of a sample or a label's `le`. */
function valueOf(t, text) {
  t.regex(text, /^(\+Inf|-?\d+(\.\d+)?(e[+-]?\d+)?)$/);
  return text === '+Inf' ? Infinity : Number(text);
}

/** The labels of a sample, `a="b",c="d"`, as an object. */
function labelsOf(t, text) {
  const labels = {};
  const pattern = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\[\\n"])*)"(,|$)/y;
  while (pattern.lastIndex < text.length) {
    const [, name, value] = pattern.exec(text) ?? t.fail(text);
    t.false(name in labels || name.startsWith('__'), text);
    labels[name] = value;
  }
  return labels;
}

/**
 * The samples of the text format, by their names and labels, after the checks of `promtool check
 * metrics`: the grammar, one HELP and one TYPE before all samples of a family, no series twice,
 * names that say what they are, and histograms whose buckets add up.
 */
function samples(t, text) {
  const found = new Map();
  const seen = new Set();
  const add = (one) => {
    t.false(seen.has(one), `twice: ${one}`);
    seen.add(one);
  };
  for (const family of text.split(/^(?=# HELP )/m)) {
    if (family === '') continue;
    const [, name, type, lines] = /^# HELP ([a-zA-Z_:][\w:]*) [A-Z][^\\\n]*[^.\s]\n# TYPE \1 (counter|gauge|histogram)\n((?:[^#\n].*\n)*)$/.exec(family) ?? t.fail(family);
    add(name);
    t.is(name.endsWith('_total'), type === 'counter', name);
    t.notRegex(name, /(_(count|sum|bucket|milliseconds|ms|kilobytes|mb|minutes)$)|[A-Z]/);
    const buckets = new Map();
    for (const line of lines.split('\n').slice(0, -1)) {
      const [, series, full, labels = '', text] = /^(([a-zA-Z_:][\w:]*)(?:\{(.*)\})?) (\S+)$/.exec(line) ?? t.fail(line);
      const suffix = full.slice(name.length);
      t.true(full.startsWith(name) && (type === 'histogram' ? /^_(bucket|sum|count)$/ : /^$/).test(suffix), line);
      const { le, ...others } = labelsOf(t, labels);
      const value = valueOf(t, text);
      add(`${full} ${JSON.stringify(Object.entries({ ...others, le }).sort())}`);
      found.set(series, value);
      t.true(type === 'gauge' || value >= 0);
      t.is(le !== undefined, suffix === '_bucket', line);
      const key = JSON.stringify(others);
      const [bound, count] = buckets.get(key) ?? [-Infinity, 0];
      if (suffix === '_bucket') {
        t.true(valueOf(t, le) > bound && value >= count, line);
        buckets.set(key, [valueOf(t, le), value]);
      } else if (suffix === '_count') t.deepEqual([bound, count], [Infinity, value]);
    }
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
  t.is(found.get(`reactor_ws_connections_closed_total{${all},code="other"}`), 1);
  t.is(found.get(`reactor_ws_handshakes_denied_total{${all},reason="connections"}`), 1);
  t.true(found.get(`reactor_ws_delay_seconds_count{${all}}`) > 0);
  t.is(found.get(`reactor_ws_delay_seconds_count{${all}}`), found.get(`reactor_ws_delay_seconds_bucket{${all},le="+Inf"}`));
  t.true(samples(t, prometheus(server)).has('reactor_ws_connections'));
});

test('prometheus: several servers in one text, and what they share in it once', async (t) => {
  const [chat, feed] = [await startServer(t), await startServer(t)];
  await connect(t, chat);
  const servers = new Map([[chat, { server: 'chat' }], [feed, { server: 'feed' }]]);
  const found = samples(t, prometheus(servers, { zone: 'a' }));
  t.is(found.get('reactor_ws_connections{zone="a",server="chat"}'), 1);
  t.is(found.get('reactor_ws_connections{zone="a",server="feed"}'), 0);
  const series = (name) => [...found.keys()].filter((key) => key.startsWith(`${name}{`) || key === name);
  t.deepEqual(series('reactor_ws_accepted_total'), ['reactor_ws_accepted_total{zone="a"}']);
  t.deepEqual(series('reactor_ws_info'), [`reactor_ws_info{zone="a",package="${VERSION}",node="${process.versions.node}"}`]);
  const families = (text) => text.split('\n').filter((line) => line.startsWith('#'));
  t.deepEqual(families(prometheus([...servers])), families(prometheus(chat)));
  t.is(prometheus([]), '');
});

test('prometheus: labels that would make the text invalid throw', async (t) => {
  const [one, two] = [await startServer(t), await startServer(t)];
  const documented = new Set([...prometheus(one).matchAll(/[{,](\w+)="/g)].map(([, label]) => label));
  for (const name of [...documented, 'topic', 'status', 'a-b', '', '1a', 'é', 'a b', '__name__', 'le']) {
    for (const ask of [() => prometheus(one, { [name]: 'x' }), () => prometheus([[one, { [name]: 'x' }]])]) {
      t.throws(ask, { instanceOf: RangeError }, name);
    }
  }
  for (const name of ['a', 'A_1', '_a', 'server']) t.notThrows(() => prometheus(one, { [name]: 1 }));
  t.throws(() => prometheus([[one, { a: '1' }], [two, { a: 1 }]]), { instanceOf: RangeError, message: /^Two servers have the labels/ });
  t.throws(() => prometheus([[one, {}], [two, {}]]), { instanceOf: RangeError });
  t.notThrows(() => prometheus([[one, { a: 'x' }], [two, { b: 'x' }]]));
});

everyWay(test.serial, 'slowest() names those that do not read, the worst first, also without clientTracking', async (t, start, way) => {
  for (const clientTracking of [true, false]) {
    const server = await start(t, { clientTracking });
    const pairs = await connectMany(t, server, 4);
    t.deepEqual(server.slowest(), []);
    const [little, much, , gone] = pairs;
    for (const { client } of [little, much, gone]) client._socket.pause();
    little.ws.send(Buffer.alloc(16 * 2 ** 20));
    much.ws.send(Buffer.alloc(32 * 2 ** 20));
    gone.ws.send(Buffer.alloc(64 * 2 ** 20));
    gone.ws.terminate();
    await new Promise((resolve) => gone.ws.once('close', resolve));
    const isRest = (found) => found.length === 2 && found.every(({ seconds }) => seconds > 0);
    let found = server.slowest();
    for (; !isRest(found); found = server.slowest()) await new Promise(setImmediate);
    t.deepEqual(found.map(({ client }) => client), [much.ws, little.ws]);
    t.deepEqual(server.slowest(1).map(({ client }) => client), [much.ws]);
    t.deepEqual(server.slowest(0), []);
    const { address, port, bytesWaiting, seconds } = server.slowest(1)[0];
    const { localAddress, localPort } = much.client._socket;
    const known = way === 'stream' ? [undefined, undefined] : [localAddress, localPort];
    t.deepEqual([address, port], known);
    t.true(bytesWaiting > 0 && bytesWaiting <= 33 * 2 ** 20);
    t.true(seconds >= found[0].seconds);
    for (const { client } of [little, much]) client._socket.resume();
    while (server.slowest().length !== 0) await new Promise(setImmediate);
    t.is(server.metrics().bytesWaiting, 0);
  }
});

test('slowest(): a count that is none throws', async (t) => {
  const server = await startServer(t);
  for (const count of ['1', null, {}]) t.throws(() => server.slowest(count), { instanceOf: TypeError });
  for (const count of [-1, 0.5, NaN, Infinity]) t.throws(() => server.slowest(count), { instanceOf: RangeError });
});

test.serial('memory beside its budgets: an unfinished message, a history, contexts of compression', async (t) => {
  const server = await startServer(t, { topicOptions: () => ({ history: 10 }), perMessageDeflate: { threshold: 0 } });
  const { client, ws } = await connect(t, server, { perMessageDeflate: true });
  const memory = () => server.metrics().reactors.memory;
  const until = async (isSo) => {
    while (!isSo(memory().used)) await new Promise((resolve) => setTimeout(resolve, 1));
  };
  t.true(Object.values(memory().budget).every((bytes) => bytes > 0));
  const before = memory().used;
  client._sender._socket.write(Buffer.concat([Buffer.from([0x02, 0xff, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]), Buffer.alloc(65_536)]));
  await until(({ unfinished }) => unfinished >= before.unfinished + 65_536);
  ws.subscribe('a');
  server.publish('a', 'x'.repeat(10_000));
  await until(({ history }) => history >= before.history + 10_000);
  await until(({ compression, decompression }) => compression > before.compression && decompression > before.decompression - 1);
  client.terminate();
  await until(({ unfinished }) => unfinished === before.unfinished);
  t.pass();
});

test('draining, versions, the event loop and the number of reactors', async (t) => {
  const { client, server } = await openPair(t, { closeTimeout: 60_000 });
  client._socket.pause();
  const { reactors, versions } = server.metrics();
  t.deepEqual(versions, { package: VERSION, node: process.versions.node });
  t.is(reactors.count, Number(process.env.REACTOR_WS_REACTORS ?? 1) || 1);
  t.false(server.metrics().draining);
  const drained = server.drain({ duration: 0 });
  t.true(server.metrics().draining);
  client.terminate();
  await drained;
  t.false(server.metrics().draining);
  const { active, idle } = server.metrics().eventLoop;
  const isMeasured = ({ eventLoop }) => eventLoop.active > active && eventLoop.idle > idle && eventLoop.delay.count >= 2;
  while (!isMeasured(server.metrics())) await new Promise((resolve) => setTimeout(resolve, 1));
});

test('docs/running.md has the name of each number, and no other', async (t) => {
  const server = await startServer(t);
  const text = readFileSync(new URL('../../docs/running.md', import.meta.url), 'utf8');
  const [table] = /<!-- metrics:begin -->[^]*<!-- metrics:end -->/.exec(text);
  const documented = [...table.matchAll(/^\| `(reactor_ws_\w+)` \| ([^|]*)\|/gm)].map(([, name, labels]) => [name, [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label)]);
  const own = [...prometheus(server).matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name);
  t.deepEqual(documented.map(([name]) => name), own);
  const used = new Set([...prometheus(server).matchAll(/[{,](\w+)="/g)].map(([, label]) => label));
  used.delete('le');
  t.deepEqual([...used].filter((label) => !documented.some(([, labels]) => labels.includes(label))), []);
});

// The options that ws does not have.
import { once } from 'node:events';
import { networkInterfaces } from 'node:os';

import { WebSocket, WebSocketServer, askRaw, allWays as everyWay, frame, openBy, openPair, startServer, test } from './helpers/index.mjs';
import { RawClient, upgradeRequest } from './helpers/raw-client.mjs';

for (const [name, value, type] of [
  ['handshakeTimeout', '100', 'number'],
  ['pingInterval', '100', 'number'],
  ['idleTimeout', true, 'number'],
  ['spin', 1n, 'number'],
  ['reactors', '1', "number or 'auto'"],
  ['unfinishedBudget', '1', 'number'],
  ['ipv6Only', 1, 'boolean'],
  ['earlyHandshake', 'true', 'boolean'],
]) {
  test(`${name}: ${typeof value} throws`, (t) => {
    const error = t.throws(() => new WebSocketServer({ port: 0, [name]: value }), { instanceOf: TypeError });
    t.true(error.message.startsWith(`options.${name} must be a ${type}. Received `));
  });
}

for (const [name, least, wrong, most = 2147483647] of [
  ['handshakeTimeout', 1, [0, -1, 1.5, NaN, Infinity, 2 ** 31]],
  ['pingInterval', 0, [-1, 0.5, NaN, 2 ** 31]],
  ['idleTimeout', 0, [-1, 0.5, NaN, 2 ** 31]],
  ['spin', -1, [-2, 0.5, NaN, 2 ** 31]],
  ['reactors', 0, [-1, 1.5, NaN, 65], 64],
  ['unfinishedBudget', 0, [-1, 1.5, Infinity, 2 ** 53], Number.MAX_SAFE_INTEGER],
]) {
  test(`${name}: out of its range throws`, (t) => {
    for (const value of wrong) {
      t.throws(() => new WebSocketServer({ port: 0, [name]: value }), {
        instanceOf: RangeError,
        message: `options.${name} must be an integer from ${least} to ${most}. Received ${value}`,
      });
    }
  });
}

// A limit that is not there would leave the server open.
for (const [wrong, right] of [
  ['allowedOrigin', 'allowedOrigins'],
  ['allowedorigins', 'allowedOrigins'],
  ['proxyProtocols', 'proxyProtocol'],
  ['proxyprotocol', 'proxyProtocol'],
  ['maxpayload', 'maxPayload'],
  ['maxConnection', 'maxConnections'],
  ['maxConnectionPerAddress', 'maxConnectionsPerAddress'],
  ['maxconnectionperaddress', 'maxConnectionsPerAddress'],
  ['messagePerSecond', 'messagesPerSecond'],
  ['Port', 'port'],
  ['verifyclient', 'verifyClient'],
]) {
  test(`${wrong}, which is almost ${right}, throws`, (t) => {
    t.throws(() => new WebSocketServer({ noServer: true, [wrong]: null }), {
      instanceOf: TypeError,
      message: `options.${wrong} is not an option. Its name is ${right}`,
    });
  });
}

test('what frameworks and programs hand on does not throw', (t) => {
  // The options of a gateway of NestJS, of Colyseus, and of Node's servers.
  const names = ['namespace', 'transports', 'cors', 'cookie', 'serveClient', 'parser', 'connectTimeout', 'pingTimeout', 'upgradeTimeout', 'maxHttpBufferSize', 'allowRequest', 'httpCompression', 'wsEngine'];
  names.push('pingMaxRetries', 'beforeListen', 'tracker', 'timeout', 'headersTimeout', 'requestTimeout', 'maxHeaderSize', 'keepAliveTimeout', 'key', 'cert', 'logger', 'routes', 'options', 'name');
  // Other words than `host` and `spin`.
  names.push('hot', 'pin');
  t.notThrows(() => new WebSocketServer({ noServer: true, ...Object.fromEntries(names.map((name) => [name, {}])) }));
});

test('an unknown option of an object that only this package has throws', async (t) => {
  const { server, ws } = await openPair(t, { topicOptions: (topic) => JSON.parse(topic) });
  for (const [call, label, there] of [
    [() => new WebSocketServer({ port: 0, proxyProtocol: { trusted: ['::1'], trust: [] } }), 'options.proxyProtocol.trust', 'trusted'],
    [() => server.publish('{ "histroy": 5 }', 'a'), 'topicOptions().histroy', 'slow, limit, history, ttl, maxBytes, positionTtl'],
    [() => server.publish('{}', 'a', { recipt: true }), 'options.recipt', 'binary, compress, fin, mask, except, key, receipt'],
    [() => ws.publish('{}', 'a', { Except: ws }), 'options.Except', 'binary, compress, fin, mask, except, key, receipt'],
    [() => server.broadcast('a', { receipt: true }), 'options.receipt', 'binary, compress, fin, mask, except'],
    [() => ws.subscribe('{}', { sinse: 'oldest' }), 'options.sinse', 'since'],
    [() => server.history('{}', { most: 1 }), 'options.most', 'since, limit'],
  ]) {
    t.throws(call, { instanceOf: TypeError, message: `${label} is not an option. There are: ${there}` });
  }
  await t.throwsAsync(server.drain({ durration: 1 }), { message: 'options.durration is not an option. There are: code, duration, onProgress, reason, signal' });
  t.is(server.publish('{}', 'a', { binary: false, compress: true, fin: true, mask: false, except: null, key: '', receipt: false }), 0);
});

const NUMBERS = ['backlog', 'closeTimeout', 'maxBufferedChunks', 'maxFragments', 'maxPayload', 'maxPendingAutoPongs'];
const NOT_NUMBERS = ['1mb', '', ' ', 'NaN', true, false, {}, [], [5], 5n, () => 5];
const WRONG_NUMBERS = [NaN, -1, '-1', -0.5, -Infinity];

test('numbers of ws: what is no number throws, and is not "no limit"', (t) => {
  const client = (options) => new WebSocket('ws://127.0.0.1:1', options).on('error', () => {});
  const server = (options) => new WebSocketServer({ noServer: true, ...options });
  for (const [make, names, label] of [
    [server, NUMBERS, 'options'],
    [client, [...NUMBERS.slice(1), 'maxRedirects'], 'options'],
    [(perMessageDeflate) => server({ perMessageDeflate }), ['concurrencyLimit', 'threshold'], 'options.perMessageDeflate'],
    [(perMessageDeflate) => client({ perMessageDeflate }), ['concurrencyLimit', 'threshold'], 'options.perMessageDeflate'],
  ]) {
    for (const name of names) {
      const throws = (value) => t.throws(() => make({ [name]: value }));
      for (const value of NOT_NUMBERS) {
        const error = throws(value);
        t.true(error instanceof TypeError);
        t.true(error.message.startsWith(`${label}.${name} must be a number. Received `), error.message);
      }
      for (const value of WRONG_NUMBERS) {
        const error = throws(value);
        t.true(error instanceof RangeError);
        t.true(error.message.startsWith(`${label}.${name} must be 0 or more. Received `), error.message);
      }
      for (const value of [0, -0, 1, '1', ' 2 ', 1.5, 2 ** 31, Infinity, undefined, null]) t.notThrows(() => make({ [name]: value }));
    }
  }
});

everyWay(test, 'maxPayload: text of a number and a fraction are limits', async (t, start) => {
  for (const [maxPayload, most] of [['3', 3], [0.5, 1], [3.5, 3]]) {
    const { ws, client } = await openBy(start, t, { maxPayload });
    client.send('a'.repeat(most));
    t.is(String((await once(ws, 'message'))[0]), 'a'.repeat(most));
    client.send('a'.repeat(most + 1));
    t.is((await once(client, 'close'))[0], 1009);
  }
});

everyWay(test, 'closeTimeout: more than a timer takes is no shorter', async (t, start) => {
  const server = await start(t, { closeTimeout: Infinity });
  const connected = once(server, 'connection');
  const raw = await askRaw(t, server.address().port);
  const [ws] = await connected;
  ws.close(1000);
  await raw.until((text) => text.endsWith('\x88\x02\x03\xe8'));
  // A timer of Node takes it for 1 ms.
  await new Promise((resolve) => setTimeout(resolve, 50));
  t.is(ws.readyState, WebSocket.CLOSING);
  const closed = once(ws, 'close');
  raw.send(frame(8, Buffer.from('03e8', 'hex')));
  t.is((await closed)[0], 1000);
});

everyWay(test, 'Symbol.asyncDispose closes, waits for the clients, and may be called again', async (t, start) => {
  const { client, server } = await openBy(start, t, {});
  let isOver = false;
  const disposed = Promise.all([server[Symbol.asyncDispose](), server[Symbol.asyncDispose]()]).then(() => (isOver = true));
  const closed = once(server, 'close');
  client.ping();
  await once(client, 'pong');
  t.false(isOver);
  client.close();
  await closed;
  await disposed;
  await server[Symbol.asyncDispose]();
});

test('undefined and null are the default', async (t) => {
  const nothing = { handshakeTimeout: undefined, pingInterval: null, idleTimeout: undefined, ipv6Only: null, earlyHandshake: null };
  const { ws } = await openPair(t, { ...nothing, spin: undefined, perMessageDeflate: { compressor: null } });
  t.is(ws.readyState, WebSocket.OPEN);
});

test.serial('REACTOR_WS_REACTORS: out of its range throws', (t) => {
  const before = process.env.REACTOR_WS_REACTORS;
  t.teardown(() => {
    if (before === undefined) delete process.env.REACTOR_WS_REACTORS;
    else process.env.REACTOR_WS_REACTORS = before;
  });
  process.env.REACTOR_WS_REACTORS = 'many';
  t.throws(() => new WebSocketServer({ port: 0 }), {
    instanceOf: RangeError,
    message: 'REACTOR_WS_REACTORS must be an integer from 0 to 64. Received NaN',
  });
});

// H02.
test('handshakeTimeout: a request that does not end is answered with 408', async (t) => {
  const server = await startServer(t, { handshakeTimeout: 700 });
  let raw;
  let start;
  // Bytes that are there when the time is over are read first: only these must be in time.
  do {
    start = performance.now();
    raw = await RawClient.connect(t, server.address().port);
    await raw.send(upgradeRequest().slice(0, -2));
  } while (performance.now() - start >= 700);
  t.true((await raw.closed()).startsWith('HTTP/1.1 408 Request Timeout\r\n'));
});

// H01.
test('handshakeTimeout: silence is ended without an answer', async (t) => {
  const server = await startServer(t, { handshakeTimeout: 40 });
  const raw = await RawClient.connect(t, server.address().port);
  t.is(await raw.closed(), '');
});

const hasIPv6 = Object.values(networkInterfaces()).some((all) => all.some(({ address }) => address === '::1'));
(hasIPv6 ? test : test.skip)('ipv6Only', async (t) => {
  const isReached = async (ipv6Only) => {
    const server = await startServer(t, { host: '::', ipv6Only });
    const connected = RawClient.connect(t, server.address().port);
    return connected.then(() => true, ({ code }) => code !== 'ECONNREFUSED');
  };
  t.true(await isReached(false));
  // The same port of IPv4 is free for others, such as a test that runs beside this one.
  const reached = [];
  do reached.push(await isReached(true));
  while (reached.at(-1) && reached.length < 10);
  t.false(reached.at(-1));
});

everyWay(test, 'handshakeTimeout is for the request, not for verifyClient', async (t, start, way) => {
  let isAsked = false;
  const verifyClient = (_info, done) => {
    isAsked = true;
    setTimeout(done, 400, true);
  };
  // With `server`, that option belongs to the listener that several servers may share.
  const server = await start(t, way === 'port' ? { handshakeTimeout: 50, verifyClient } : { verifyClient });
  let answer;
  // No hook is called for a client that is late with its request.
  do {
    const raw = await askRaw(t, server.address().port);
    answer = await raw.untilClosedOr((text) => text.includes('\r\n\r\n'));
  } while (!isAsked);
  t.true(answer.startsWith('HTTP/1.1 101 '), answer);
});

test('a verifyClient that never calls back keeps a connection as long as the peer is there, and closeTimeout', async (t) => {
  const asked = [];
  const verifyClient = (info, _callback) => asked.push(info.req.socket);
  const server = await startServer(t, { closeTimeout: 50, verifyClient });
  const port = server.address().port;
  for (const leave of ['end', 'reset']) {
    const raw = await RawClient.connect(t, port);
    const before = asked.length;
    await raw.send(upgradeRequest());
    while (asked.length === before) await new Promise(setImmediate);
    raw[leave]();
    t.is(await raw.closed(), '');
  }
  while (asked.some((socket) => !socket.destroyed)) await new Promise(setImmediate);
  t.is(asked.length, 2);
});

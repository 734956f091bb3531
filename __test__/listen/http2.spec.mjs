// WebSockets over HTTP/2 (RFC 8441), by `server` and by `handleConnect()`. What hooks and refusals
// look like is compared with HTTP/1.1 by http2-matrix.spec.mjs.
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';

import test from 'ava';

import { nextEvents } from '../helpers/clients.mjs';
import { SERVERS, answered, ask, connect, open, openPair, refusal, start, startHttp2 } from '../helpers/http2.mjs';
import { WebSocketServer, implementation, isReference } from '../helpers/impl.mjs';
import { SIZES, payloads } from '../helpers/payloads.mjs';

const { emitUpgrades } = implementation;

// ws has none of this.
const own = isReference ? test.skip : test;

const echo = (ws) => ws.on('message', (data, isBinary) => ws.send(data, { binary: isBinary }));

/** What a stream answers, with its body. */
async function get(session, path) {
  const stream = session.request({ ':path': path });
  const [fields] = await once(stream, 'response');
  const chunks = await stream.toArray();
  return { status: fields[':status'], body: Buffer.concat(chunks).toString() };
}

for (const kind of Object.keys(SERVERS)) {
  for (const perMessageDeflate of [false, { threshold: 0 }]) {
    const title = perMessageDeflate ? 'compressed' : 'as they are';
    own(`messages of every size and kind come back ${title}: ${kind}`, async (t) => {
      const { server, wss } = await start(t, { perMessageDeflate }, { kind });
      wss.on('connection', echo);
      const session = await connect(t, server);
      const client = await open(session, { extensions: 'permessage-deflate; client_max_window_bits' });
      t.is('permessage-deflate' in client._extensions, perMessageDeflate !== false);
      for (const payload of payloads(SIZES)) {
        client.send(payload);
        const [data, isBinary] = await once(client, 'message');
        t.is(isBinary, typeof payload !== 'string');
        t.true(Buffer.from(payload).equals(data), `${payload.length} bytes`);
      }
      client.close(1000, 'done');
      t.is((await once(client, 'close'))[0], 1000);
    });
  }

  own(`many WebSockets share a session with pages, ${kind}, and its pages go to the program`, async (t) => {
    const listener = (request, response) => response.end(`page ${request.url}`);
    const { server, wss } = await start(t, {}, { kind, listener });
    const seen = [];
    server.on('stream', (_stream, headers) => seen.push(headers[':path']));
    wss.on('connection', echo);
    const session = await connect(t, server);
    const clients = await Promise.all(Array.from({ length: 50 }, (_, n) => open(session, { path: `/${n}` })));
    const messages = clients.map((client) => once(client, 'message'));
    clients.forEach((client, n) => client.send(`message ${n}`));
    t.deepEqual(await get(session, '/index'), { status: 200, body: 'page /index' });
    for (const [n, message] of messages.entries()) t.is(String((await message)[0]), `message ${n}`);
    t.deepEqual(seen, ['/index']);
    t.is(wss.clients.size, 50);
  });
}

own('the request is an upgrade as a gateway makes it, and its socket the stream', async (t) => {
  const { server, wss } = await start(t, {}, { kind: 'tls' });
  const session = await connect(t, server);
  const fields = { path: '/a?b=c', ':authority': 'example.com:8443', origin: 'https://example.com', cookie: 'a=1; b=2', 'x-list': ['1', '2'] };
  const { client, request, ws } = await openPair(session, wss, fields);
  const { 'sec-websocket-key': key, ...headers } = request.headers;
  t.true(request instanceof http.IncomingMessage);
  t.deepEqual([request.method, request.url, request.httpVersion, request.upgrade, request.complete], ['GET', '/a?b=c', '2.0', true, true]);
  t.deepEqual({ ...headers }, {
    host: 'example.com:8443',
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    origin: 'https://example.com',
    cookie: 'a=1; b=2',
    'x-list': '1, 2',
  });
  t.is(Buffer.from(key, 'base64').length, 16);
  t.true(request.rawHeaders.every((text) => !text.startsWith(':')));
  const { socket } = request;
  t.is(socket, ws._socket);
  t.is(request.connection, socket);
  t.is(socket.constructor.name, 'Http2Socket');
  t.deepEqual(
    [socket.remoteAddress, socket.remotePort, socket.remoteFamily, socket.localAddress, socket.localPort],
    ['127.0.0.1', session.socket.localPort, 'IPv4', '127.0.0.1', server.address().port],
  );
  t.deepEqual([socket.encrypted, socket.authorized, socket.alpnProtocol, socket.getProtocol()], [true, false, 'h2', 'TLSv1.3']);
  t.deepEqual(socket.getPeerCertificate(), {});
  t.deepEqual(socket.address(), { address: '127.0.0.1', family: 'IPv4', port: server.address().port });
  for (const name of ['setNoDelay', 'setKeepAlive', 'ref', 'unref']) t.is(socket[name](true, 1), socket);
  t.true(socket.session.encrypted);
  client.close(1000);
  await once(ws, 'close');
  t.is(socket.remoteAddress, '127.0.0.1');
  t.true(socket.bytesRead > 0 && socket.bytesWritten > 0);
  t.is(socket.getProtocol(), undefined);
});

own('handleConnect() takes a stream that the program has chosen, also later', async (t) => {
  const server = await startHttp2(t, { settings: { enableConnectProtocol: true } });
  const wss = new WebSocketServer({ noServer: true });
  server.on('stream', async (stream, headers) => {
    if (headers[':path'] !== '/chosen') return stream.respond({ ':status': 404 }, { endStream: true });
    for (let i = 0; i < 10; i++) await turn();
    wss.handleConnect(stream, headers, (ws, request) => {
      t.is(request.url, '/chosen');
      t.throws(() => wss.handleConnect(stream, headers, () => t.fail()), { message: /called more than once with the same socket/ });
      echo(ws);
    });
  });
  const session = await connect(t, server);
  t.is((await refusal(ask(session, { path: '/other' }))).status, 404);
  const client = await open(session, { path: '/chosen' });
  client.send('hello');
  t.is(String((await once(client, 'message'))[0]), 'hello');
});

own('handleConnect() of a stream that has gone does nothing', async (t) => {
  const server = await startHttp2(t, { settings: { enableConnectProtocol: true } });
  const wss = new WebSocketServer({ noServer: true, maxConnections: 10 });
  const session = await connect(t, server);
  for (const end of [(client) => client.close(8), () => session.destroy()]) {
    for (const change of [{}, { ':method': 'POST' }]) {
      if (session.destroyed) break;
      const arrived = once(server, 'stream');
      const client = ask(session);
      const [stream, headers] = await arrived;
      stream.on('error', () => {});
      const closed = once(stream, 'close');
      end(client);
      await closed;
      wss.handleConnect(stream, { ...headers, ...change }, () => t.fail());
    }
  }
  await turn();
  t.is(wss.clients.size, 0);
});

own('handleConnect() and emitUpgrades() say what they need', (t) => {
  const wss = new WebSocketServer({ noServer: true });
  const stream = { respond() {} };
  t.throws(() => wss.handleConnect({}, {}, () => {}), { instanceOf: TypeError, message: 'stream must be a stream of an HTTP/2 server. Received {}' });
  t.throws(() => wss.handleConnect(null, {}, () => {}), { instanceOf: TypeError, message: /^stream must be/ });
  t.throws(() => wss.handleConnect(stream, null, () => {}), { instanceOf: TypeError, message: 'headers must be an object. Received null' });
  for (const server of [null, {}, http.createServer()]) {
    t.throws(() => emitUpgrades(server), { instanceOf: TypeError, message: /^server must be an HTTP\/2 server/ });
  }
});

own('handleConnect() refuses what is no CONNECT for a WebSocket', async (t) => {
  const server = await startHttp2(t, { settings: { enableConnectProtocol: true } });
  const wss = new WebSocketServer({ noServer: true });
  let change;
  server.on('stream', (stream, headers) => wss.handleConnect(stream, { ...headers, ...change }, () => t.fail()));
  const session = await connect(t, server);
  const rows = [
    [{ ':method': 'POST' }, 405, 'Invalid HTTP method'],
    [{ ':method': 'GET' }, 400, 'Invalid Upgrade header'],
    [{ ':protocol': 'connect-udp' }, 400, 'Invalid Upgrade header'],
    [{ ':protocol': undefined }, 400, 'Invalid Upgrade header'],
    [{ ':path': undefined }, 400, 'Bad Request'],
    [{ ':path': '' }, 400, 'Bad Request'],
    [{ ':path': 'somewhere' }, 400, 'Bad Request'],
    [{ 'sec-websocket-version': undefined }, 400, 'Missing or invalid Sec-WebSocket-Version header'],
    [{ 'sec-websocket-version': '12' }, 400, 'Missing or invalid Sec-WebSocket-Version header'],
  ];
  for (const [fields, status, message] of rows) {
    change = fields;
    const { status: got, body } = await refusal(ask(session));
    t.deepEqual([got, body], [status, message]);
  }
});

own('handleConnect() refuses every other request, and does not answer twice', async (t) => {
  const server = await startHttp2(t, { settings: { enableConnectProtocol: true } });
  const wss = new WebSocketServer({ noServer: true });
  server.on('stream', (stream, headers) => {
    const answer = () => wss.handleConnect(stream, headers, () => t.fail());
    if (headers[':path'] !== '/answered') return answer();
    stream.respond({ ':status': 202 });
    if (headers[':method'] === 'CONNECT') t.throws(answer, { message: /called more than once with the same socket/ });
    else answer();
    stream.end('mine');
  });
  const session = await connect(t, server);
  for (const method of ['HEAD', 'POST', 'OPTIONS', 'DELETE', 'PUT']) {
    const stream = session.request({ ':method': method, ':path': '/' });
    stream.end();
    const { body, status } = await refusal(stream);
    t.deepEqual([status, body], [405, method === 'HEAD' ? '' : 'Invalid HTTP method'], method);
  }
  for (const fields of [{ ':path': '/' }, { ':method': 'CONNECT', ':authority': 'example.com:80' }]) {
    const plain = session.request(fields);
    plain.end();
    t.is((await refusal(plain)).body, 'Invalid Upgrade header');
  }
  const answers = [refusal(ask(session, { path: '/answered' })), refusal(session.request({ ':path': '/answered' }))];
  for (const { body, status } of await Promise.all(answers)) t.deepEqual([status, body], [202, 'mine']);
});

own('a CONNECT for another protocol, and one without, are the program\'s', async (t) => {
  const { server } = await start(t, {}, { listener: () => t.fail() });
  const session = await connect(t, server);
  // Without a listener of 'connect', Node answers.
  t.is((await refusal(ask(session, { ':protocol': 'connect-udp' }))).status, 405);
  server.on('connect', (request, response) => {
    response.statusCode = 299;
    response.end(request.headers[':protocol'] ?? 'none');
  });
  t.is((await refusal(ask(session, { ':protocol': 'connect-udp' }))).body, 'connect-udp');
  const plain = session.request({ ':method': 'CONNECT', ':authority': 'example.com:80' });
  plain.end();
  t.is((await refusal(plain)).body, 'none');
});

own('the settings of the program stay, and the client is told of extended CONNECT', async (t) => {
  const { server } = await start(t, {}, { settings: { maxConcurrentStreams: 7, enableConnectProtocol: false } });
  const session = await connect(t, server);
  t.true(session.remoteSettings.enableConnectProtocol);
  t.is(session.remoteSettings.maxConcurrentStreams, 7);
});

own('a session from before the WebSocketServer is told with its next request', async (t) => {
  const server = await startHttp2(t, { listener: (_request, response) => response.end('page') });
  const session = await connect(t, server);
  t.falsy(session.remoteSettings.enableConnectProtocol);
  const wss = new WebSocketServer({ server });
  wss.on('connection', echo);
  const told = once(session, 'remoteSettings');
  t.is((await get(session, '/')).body, 'page');
  await told;
  t.true(session.remoteSettings.enableConnectProtocol);
  const client = await open(session);
  client.send('hello');
  t.is(String((await once(client, 'message'))[0]), 'hello');
  let count = 0;
  session.on('remoteSettings', () => count++);
  await get(session, '/');
  t.is(count, 0);
});

own('several WebSocketServers of one HTTP/2 server, each for its path, and all are closed', async (t) => {
  const listener = (_request, response) => response.end('page');
  const server = await startHttp2(t, { listener });
  const [a, b] = ['/a', '/b'].map((path) => new WebSocketServer({ server, path }));
  for (const wss of [a, b]) wss.on('connection', (ws) => ws.send(wss.options.path));
  const session = await connect(t, server);
  const greeting = async (path) => String((await once(await open(session, { path }), 'message'))[0]);
  t.is(await greeting('/a?x'), '/a');
  t.is(await greeting('/b'), '/b');
  t.is((await refusal(ask(session, { path: '/c' }))).status, 400);
  let isClosed = false;
  a.close(() => {
    isClosed = true;
  });
  t.is((await refusal(ask(session, { path: '/a' }))).status, 400);
  t.false(isClosed);
  const closed = once(a, 'close');
  for (const ws of a.clients) ws.terminate();
  await closed;
  t.is(await greeting('/b'), '/b');
  b.close();
  // Now there is no listener for upgrades: Node's answer to a CONNECT.
  t.is((await refusal(ask(session, { path: '/b' }))).status, 405);
  t.is((await get(session, '/')).body, 'page');
  const again = new WebSocketServer({ server, path: '/a' });
  again.on('connection', (ws) => ws.send('again'));
  t.is(await greeting('/a'), 'again');
});

/** Ways in which a connection ends, and what both sides see: `[ends, code of the server, cause, code of the client]`. */
const ENDS = {
  'the client closes': [({ client }) => client.close(1000, 'bye'), 1000, 'closed', 1000],
  'the server closes': [({ ws }) => ws.close(3000, 'bye'), 3000, 'closed', 3000],
  'the client ends its side (END_STREAM)': [({ client }) => client._socket.end(), 1006, 'fin', 1006],
  'the client resets the stream': [({ client }) => client._socket.close(8), 1006, null, 1006],
  'the client resets the stream with an error': [({ client }) => client._socket.close(2), 1006, null, 1006],
  'the server terminates': [({ ws }) => ws.terminate(), 1006, 'terminate', 1006],
  'the client\'s session ends': [({ session }) => session.destroy(), 1006, 'reset', 1006],
  'the client\'s connection is cut': [({ sockets }) => sockets.client.destroy(), 1006, 'reset', 1006],
  'the server\'s session is destroyed': [({ ws }) => ws._socket.session.destroy(), 1006, null, 1006],
  'the client goes away with an error (GOAWAY)': [({ session }) => session.goaway(11), 1006, null, 1006],
};

for (const [name, [end, code, cause, clientCode]] of Object.entries(ENDS)) {
  own(`${name}: ${code}`, async (t) => {
    const { server, wss } = await start(t);
    const sockets = {};
    const session = await connect(t, server, {
      createConnection: (url) => (sockets.client = net.connect(Number(url.port), '127.0.0.1')),
    });
    const { client, ws } = await openPair(session, wss);
    ws.on('error', () => {});
    const closed = Promise.all([once(ws, 'close'), once(client, 'close')]);
    end({ client, session, sockets, ws });
    const [[got], [seen]] = await closed;
    t.deepEqual([got, seen], [code, clientCode]);
    if (cause !== null) t.is(ws.closeCause, cause);
    t.is(wss.clients.size, 0);
  });
}

own('an answer that an upgrade listener writes as for HTTP/1.1 is one of HTTP/2', async (t) => {
  const { server } = await start(t, { path: '/none' }, {});
  const answers = {
    '/in-pieces'(socket) {
      for (const letter of 'HTTP/1.1 401 Unauthorized\r\nX-Why: ü\r\nConnection: close\r\n\r\n') socket.write(letter, 'latin1');
      socket.end('body');
    },
    '/with-body': (socket) => socket.end('HTTP/1.1 403 Forbidden\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nContent-Length: 4\r\n\r\nbody'),
    '/destroyed'(socket) {
      socket.write('HTTP/1.1 400 Bad Request\r\nContent-Length: 4\r\n\r\nbody');
      socket.destroy();
    },
    '/no-answer': (socket) => socket.end('nonsense\r\n\r\n'),
    '/no-phrase': (socket) => socket.end('HTTP/1.1 418\r\n\r\n'),
    '/of-http2': (socket) => socket.respond({ ':status': 410 }, { endStream: true }),
    '/ended': (socket) => socket.end(),
    '/half': (socket) => socket.end('HTTP/1.1 200 OK\r\nA: b'),
    '/cut': (socket) => socket.destroy(),
    '/no-field': (socket) => socket.end('HTTP/1.1 400 Bad Request\r\nno field\r\n\r\n'),
  };
  server.removeAllListeners('upgrade');
  server.on('upgrade', ({ url }, socket) => answers[url](socket));
  const session = await connect(t, server);
  const results = {};
  for (const path of Object.keys(answers)) {
    const stream = ask(session, { path });
    const fields = await answered(stream);
    if (fields === null) {
      results[path] = null;
      continue;
    }
    const chunks = await stream.toArray().catch(() => ['cut']);
    results[path] = [fields[':status'], chunks.join(''), fields['set-cookie'] ?? fields['x-why'] ?? null];
  }
  t.deepEqual(results, {
    '/in-pieces': [401, 'body', 'ü'],
    '/with-body': [403, 'body', ['a', 'b']],
    '/destroyed': [400, 'body', null],
    '/no-answer': [500, '', null],
    '/no-phrase': [418, '', null],
    '/of-http2': [410, '', null],
    '/ended': null,
    '/half': null,
    '/cut': null,
    '/no-field': [400, '', null],
  });
});

own('ws itself behind the same server is an upgrade listener like others', async (t) => {
  const server = await startHttp2(t);
  emitUpgrades(server);
  emitUpgrades(server);
  const { WebSocketServer: Theirs } = (await import('ws')).default;
  const wss = new Theirs({ noServer: true });
  server.on('upgrade', (request, socket, head) => wss.handleUpgrade(request, socket, head, echo));
  const client = await open(await connect(t, server), { protocols: 'a, b' });
  t.is(client.protocol, 'a');
  client.send('hello');
  t.is(String((await once(client, 'message'))[0]), 'hello');
  client.close(1000);
  t.is((await once(client, 'close'))[0], 1000);
});

own('DATA before the answer is read after it, and END_STREAM with the request is an end', async (t) => {
  const pending = [];
  const { server, wss } = await start(t, { verifyClient: (_info, callback) => pending.push(callback) });
  const session = await connect(t, server);
  const stream = ask(session);
  const frame = (text) => Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)]);
  for (let i = 0; i < 100; i++) stream.write(frame(`early ${i}`));
  while (pending.length === 0) await turn();
  for (let i = 0; i < 10; i++) await turn();
  const connected = once(wss, 'connection').then(([ws]) => nextEvents(ws, 'message', 100));
  pending[0](true);
  t.deepEqual((await connected).map(([data]) => String(data)), Array.from({ length: 100 }, (_, i) => `early ${i}`));

  const ended = ask(session, {}, { endStream: true });
  const answer = answered(ended);
  while (pending.length === 1) await turn();
  const other = once(wss, 'connection');
  pending[1](true);
  const [ws] = await other;
  t.is((await once(ws, 'close'))[0], 1006);
  t.is(ws.closeCause, 'fin');
  t.is((await answer)[':status'], 200);
});

own('a stream that is reset while verifyClient decides is not opened', async (t) => {
  const pending = [];
  const { server, wss } = await start(t, { verifyClient: ({ req }, callback) => pending.push([req.socket, callback]) });
  wss.on('connection', () => t.fail());
  const session = await connect(t, server);
  for (const isIn of [true, false]) {
    const stream = ask(session);
    while (pending.length === 0) await turn();
    const [socket, callback] = pending.pop();
    stream.close(8);
    await once(socket, 'close');
    callback(isIn);
  }
  t.is(wss.clients.size, 0);
});

own('an unanswered upgrade of a stream that fails does not end the process', async (t) => {
  const server = await startHttp2(t);
  emitUpgrades(server);
  const sockets = [];
  server.on('upgrade', (_request, socket) => sockets.push(socket));
  const session = await connect(t, server);
  const stream = ask(session);
  while (sockets.length === 0) await turn();
  stream.close(2);
  await new Promise((resolve) => sockets[0].on('close', resolve));
  t.pass();
});

own('fields of a refusal that are none of HTTP/2 end the stream', async (t) => {
  const { server, wss } = await start(t);
  wss.on('headers', (lines) => lines.push('not a field: 1'));
  wss.on('connection', (ws) => ws.on('error', () => {}));
  const session = await connect(t, server);
  t.is(await answered(ask(session)), null);
  wss.removeAllListeners('headers');
  await open(session);
});

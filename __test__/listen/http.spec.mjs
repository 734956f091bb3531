// The option http: connections without an upgrade go to an HTTP server of the program.
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';

import test from 'ava';

import { connect } from '../helpers/clients.mjs';
import { WAYS, home, httpServer, lasting, startGiven, talk } from '../helpers/handoff.mjs';
import { get } from '../helpers/http.mjs';
import { WebSocketServer, startServer } from '../helpers/impl.mjs';
import { RawClient, upgradeRequest } from '../helpers/raw-client.mjs';

const HOST = 'Host: a\r\n';
const CLOSE = 'Connection: close\r\n';

/** A server of Node that listens by itself, with the same listener. */
async function startPlain(t, onRequest, options) {
  const server = httpServer(t, onRequest, options);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server.address().port;
}

async function echo(request, response) {
  const chunks = await request.toArray().catch(() => []);
  response.setHeader('Read', Buffer.concat(chunks).length);
  response.end(`${request.method} ${request.url} ${Buffer.concat(chunks)}`);
}

/** Requests and what is none; the last one of each ends the connection. */
const REQUESTS = {
  'a GET': `GET /a?b HTTP/1.1\r\n${HOST}${CLOSE}\r\n`,
  'a HEAD': `HEAD /a HTTP/1.1\r\n${HOST}${CLOSE}\r\n`,
  'HTTP/1.0': 'GET / HTTP/1.0\r\n\r\n',
  'a body with a length': `POST / HTTP/1.1\r\n${HOST}${CLOSE}Content-Length: 5\r\n\r\nhello`,
  'a chunked body': `PUT / HTTP/1.1\r\n${HOST}${CLOSE}Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n`,
  'a chunked body with trailers': `PUT / HTTP/1.1\r\n${HOST}${CLOSE}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: y\r\n\r\n`,
  'a pipeline': `GET /1 HTTP/1.1\r\n${HOST}\r\nPOST /2 HTTP/1.1\r\n${HOST}Content-Length: 2\r\n\r\nhiGET /3 HTTP/1.1\r\n${HOST}${CLOSE}\r\n`,
  'empty lines before the request': `\r\n\r\nGET / HTTP/1.1\r\n${HOST}${CLOSE}\r\n`,
  'no Host': `GET / HTTP/1.1\r\n${CLOSE}\r\n`,
  'a target of the asterisk form': `OPTIONS * HTTP/1.1\r\n${HOST}${CLOSE}\r\n`,
  'a target of the absolute form': `GET http://a/b HTTP/1.1\r\n${HOST}${CLOSE}\r\n`,
  'a target with bytes above ASCII': `GET /\xe4 HTTP/1.1\r\n${HOST}${CLOSE}\r\n`,
  'an unknown method': `FROB / HTTP/1.1\r\n${HOST}${CLOSE}\r\n`,
  'two lengths': `POST / HTTP/1.1\r\n${HOST}${CLOSE}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`,
  'a length and chunks': `POST / HTTP/1.1\r\n${HOST}${CLOSE}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  'a folded header': `GET / HTTP/1.1\r\n${HOST}X: a\r\n b\r\n${CLOSE}\r\n`,
  'a bare line feed': `GET / HTTP/1.1\nHost: a\n${CLOSE}\n`,
  'several spaces': `GET  /  HTTP/1.1\r\n${HOST}${CLOSE}\r\n`,
  'another version': `GET / HTTP/1.2\r\n${HOST}${CLOSE}\r\n`,
  'HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'TLS': Buffer.from('1603010200010001fc0303', 'hex'),
  'no HTTP': 'hello\r\n\r\n',
  '300 fields': `GET / HTTP/1.1\r\n${HOST}${CLOSE}${'X: y\r\n'.repeat(300)}\r\n`,
  'a head of 20 KiB': `GET / HTTP/1.1\r\n${HOST}${CLOSE}X: ${'y'.repeat(20_000)}\r\n\r\n`,
  'a head of 15 KiB': `GET / HTTP/1.1\r\n${HOST}${CLOSE}X: ${'y'.repeat(15_000)}\r\n\r\n`,
  'Expect: 100-continue': `POST / HTTP/1.1\r\n${HOST}${CLOSE}Expect: 100-continue\r\nContent-Length: 2\r\n\r\nok`,
  'an upgrade to something else': `GET / HTTP/1.1\r\n${HOST}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n\r\n`,
};

for (const way of Object.keys(WAYS)) {
  for (const [title, bytes] of Object.entries(REQUESTS)) {
    test(`${way}: ${title} is answered as by a server that listens, at once and in pieces`, async (t) => {
      const { port } = await startGiven(t, way, echo, { path: '/ws' });
      const isEnough = title.startsWith('an upgrade') ? (text) => text.endsWith('GET / ') : undefined;
      const expected = lasting(await talk(t, await startPlain(t, echo), bytes, isEnough));
      t.not(expected, '');
      t.is(lasting(await talk(t, port, bytes, isEnough)), expected);
      const whole = Buffer.from(bytes, 'latin1');
      const middle = whole.length >> 1;
      t.is(lasting(await talk(t, port, [whole.subarray(0, middle), whole.subarray(middle)], isEnough)), expected);
      const start = Math.min(whole.length - 1, 20);
      const bytewise = [...whole.subarray(0, start)].map((byte) => Buffer.from([byte]));
      t.is(lasting(await talk(t, port, [...bytewise, whole.subarray(start)], isEnough)), expected);
    });
  }

  test(`${way}: a keep-alive connection has many requests, and the addresses of both ends`, async (t) => {
    const seen = [];
    const { http: server, port, wss } = await startGiven(t, way, (request, response) => {
      const { socket } = request;
      seen.push([socket.remoteAddress, socket.remoteFamily, socket.localAddress, socket.localPort, socket.address(), socket.pending, socket.connecting, socket.readyState]);
      response.end(String(socket.remotePort));
    });
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    t.teardown(() => agent.destroy());
    const ports = [];
    for (let count = 0; count < 50; count++) ports.push((await get(wss, '/', { agent })).body);
    t.is(new Set(ports).size, 1);
    t.is(server.sockets.size, 1);
    for (const one of seen) {
      t.deepEqual(one, ['127.0.0.1', 'IPv4', '127.0.0.1', port, { address: '127.0.0.1', family: 'IPv4', port }, false, false, 'open']);
    }
    t.is(wss.metrics().reactors.handedOff >= 1, true);
  });

  test(`${way}: upgrades for another path go to the listeners of the HTTP server`, async (t) => {
    const { http: server, wss } = await startGiven(t, way, home, { path: '/ours' });
    const other = new WebSocketServer({ server, path: '/theirs' });
    other.on('connection', (ws) => ws.send('theirs'));
    wss.on('connection', (ws) => ws.send('ours'));
    for (const path of ['ours', 'theirs']) {
      const raw = await RawClient.connect(t, wss.address().port);
      await raw.send(upgradeRequest({ line: `GET /${path} HTTP/1.1` }));
      t.true((await raw.until((text) => text.endsWith(path))).startsWith('HTTP/1.1 101 '));
    }
    t.is(other.clients.size, 1);
    // As in ws, the one with a listener refuses the requests of others.
    t.regex(await talk(t, wss.address().port, upgradeRequest({ line: 'GET /nobody HTTP/1.1' })), /^HTTP\/1\.1 400 /);
    for (const ws of other.clients) ws.terminate();
    other.close();
  });

  test(`${way}: an upgrade that nobody serves is a request, first or later, with and without a body`, async (t) => {
    let left = 0;
    const { port } = await startGiven(t, way, (request, response) => {
      request.on('close', () => left++);
      if (request.url === '/slow') response.write('slow');
      else echo(request, response);
    }, { path: '/ours' });
    const requests = [['GET /nobody'], ['POST /nobody', { 'Content-Length': '2' }, 'ab'], ['PUT /ours', { 'Content-Length': '1' }, 'c']];
    const raw = await RawClient.connect(t, port);
    // Node drops the requests that follow such a request in a pipeline.
    for (const [line, fields, body = ''] of requests) {
      await raw.send(upgradeRequest({ line: `${line} HTTP/1.1`, ...fields }) + body);
      await raw.until((text) => text.endsWith(`\r\n\r\n${line} ${body}`));
    }
    await raw.send(upgradeRequest({ line: 'GET /slow HTTP/1.1', Upgrade: 'h2c' }));
    await raw.until((text) => text.includes('slow'));
    raw.reset();
    while (left < 4) await new Promise(setImmediate);
    t.pass();
  });

  test(`${way}: a WebSocket that is asked for badly is refused here`, async (t) => {
    const { port, wss } = await startGiven(t, way, home, { path: '/ours' });
    const line = 'GET /ours HTTP/1.1';
    t.regex(await talk(t, port, upgradeRequest({ line, 'Sec-WebSocket-Key': 'short' })), /^HTTP\/1\.1 400 /);
    t.regex(await talk(t, port, upgradeRequest({ line, 'Sec-WebSocket-Version': '12' })), /^HTTP\/1\.1 400 /);
    t.is(wss.metrics().reactors.count > 0, true);
  });

  for (const [title, options] of Object.entries({
    verifyClient: { path: '/ours', verifyClient: () => true },
    shouldHandle: {},
  })) {
    test(`${way}: where JavaScript decides (${title}), other paths still go to the HTTP server`, async (t) => {
      const { http: server, wss } = await startGiven(t, way, home, options);
      let calls = 0;
      if (title === 'shouldHandle') {
        wss.shouldHandle = ({ url }) => {
          calls++;
          return url === '/ours';
        };
      }
      server.on('upgrade', (request, socket) => {
        if (request.url !== '/ours') socket.end(`HTTP/1.1 418 \r\n\r\n${request.url}`);
      });
      wss.on('connection', (ws) => ws.send('ours'));
      const port = wss.address().port;
      const ours = await RawClient.connect(t, port);
      await ours.send(upgradeRequest({ line: 'GET /ours HTTP/1.1' }));
      await ours.until((text) => text.endsWith('ours'));
      t.is(await talk(t, port, `${upgradeRequest({ line: 'GET /other HTTP/1.1', 'Sec-WebSocket-Key': 'bad' })}`), 'HTTP/1.1 418 \r\n\r\n/other');
      if (title === 'shouldHandle') t.true(calls <= 3, `${calls}`);
      t.deepEqual(await get(wss, '/page'), { statusCode: 200, body: 'GET /page' });
      // That of the WebSocket.
      t.is(await new Promise((resolve) => wss._listener.getConnections((_, count) => resolve(count))), 1);
    });
  }

  test(`${way}: the health check is answered by the reactor, and what is behind it by the HTTP server, in order`, async (t) => {
    const { port, wss } = await startGiven(t, way, home, { healthCheck: '/healthz' });
    const both = `GET /healthz HTTP/1.1\r\n${HOST}\r\nGET /page HTTP/1.1\r\n${HOST}${CLOSE}\r\n`;
    t.regex(await talk(t, port, both), /^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\nOKHTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\nGET \/page$/);
    wss.drain({ duration: 0 });
    t.regex(await talk(t, port, both), /^HTTP\/1\.1 503 [\s\S]*HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\nGET \/page$/);
  });

  test(`${way}: close() accepts nothing more, and leaves the HTTP server's connections alone`, async (t) => {
    const { port, wss } = await startGiven(t, way, home);
    const raw = await RawClient.connect(t, port);
    await raw.send(`GET /1 HTTP/1.1\r\n${HOST}\r\n`);
    await raw.until((text) => text.endsWith('/1'));
    wss.close();
    await once(wss, 'close');
    await raw.send(`GET /2 HTTP/1.1\r\n${HOST}${CLOSE}\r\n`);
    t.regex(await raw.closed(), /GET \/2$/);
  });

  test(`${way}: connections that an HTTP server has count for no limit of the WebSocketServer`, async (t) => {
    const { wss } = await startGiven(t, way, home, { maxConnections: 2, maxConnectionsPerAddress: 2 });
    const agent = new http.Agent({ keepAlive: true });
    t.teardown(() => agent.destroy());
    const answers = await Promise.all(Array.from({ length: 2 }, () => get(wss, '/', { agent })));
    t.deepEqual(answers.map(({ statusCode }) => statusCode), [200, 200]);
    for (let count = 0; count < 2; count++) await connect(t, wss);
    t.regex(await talk(t, wss.address().port, upgradeRequest()), /^HTTP\/1\.1 (503|429) /);
  });

  test(`${way}: the reactor's time counts for the first head, and Node's for the next ones`, async (t) => {
    const server = httpServer(t, home, { headersTimeout: 300, connectionsCheckingInterval: 50 });
    const { port } = await startGiven(t, way, home, { http: server, handshakeTimeout: 500 });
    const slow = await talk(t, port, 'GET / HTTP/1.1\r\nHost: a\r\n');
    t.regex(slow, /^HTTP\/1\.1 408 Request Timeout\r\n/);
    t.is(await talk(t, port, []), '');
    const raw = await RawClient.connect(t, port);
    await raw.send(`GET /1 HTTP/1.1\r\n${HOST}\r\n`);
    await raw.until((text) => text.endsWith('/1'));
    await raw.send('GET /2 HTTP/1.1\r\nHost: a\r\n');
    t.regex(await raw.closed(), /HTTP\/1\.1 408 Request Timeout\r\n/);
  });

  test(`${way}: the client that a proxy names`, async (t) => {
    const { http: server, port } = await startGiven(t, way, (request, response) => {
      const { remoteAddress, remoteFamily, remotePort } = request.socket;
      response.end(`${remoteAddress} ${remoteFamily} ${remotePort}`);
    }, { proxyProtocol: { trusted: ['127.0.0.1'] } });
    const request = `GET / HTTP/1.1\r\n${HOST}${CLOSE}\r\n`;
    t.regex(await talk(t, port, `PROXY TCP4 192.0.2.1 10.0.0.1 56324 443\r\n${request}`), /\r\n192\.0\.2\.1 IPv4 56324$/);
    t.regex(await talk(t, port, ['PROXY TCP6 2001:db8::1 ::1 80 81\r\n', request]), /\r\n2001:db8::1 IPv6 80$/);
    t.regex(await talk(t, port, `PROXY UNKNOWN\r\n${request}`), /\r\n127\.0\.0\.1 IPv4 \d+$/);
    t.is(server.listenerCount('upgrade'), 1);
  });

  test(`${way}: two ports share one HTTP server, each with its path`, async (t) => {
    const server = httpServer(t, home);
    const first = await startGiven(t, way, home, { http: server, path: '/1' });
    const second = await startGiven(t, way, home, { http: server, path: '/2' });
    await connect(t, first.wss, { path: '/1' });
    await connect(t, second.wss, { path: '/2' });
    t.regex(await talk(t, first.port, upgradeRequest({ line: 'GET /3 HTTP/1.1', Connection: 'close, Upgrade' })), /^HTTP\/1\.1 200 OK/);
    t.deepEqual([first.wss.clients.size, second.wss.clients.size], [1, 1]);
    first.wss.close();
    t.is(server.listenerCount('upgrade'), 1);
  });
}

test('http: bad input', (t) => {
  const listening = http.createServer().listen(0);
  t.teardown(() => listening.close());
  const server = http.createServer();
  for (const [options, expected] of [
    [{ port: 0, http: https.createServer() }, /^options\.http must not be an https\.Server without options\.tls/],
    [{ port: 0, http: {} }, /^options\.http must be an http\.Server\. Received \{\}$/],
    [{ port: 0, http: true }, /^options\.http must be an http\.Server\. Received true$/],
    [{ port: 0, http: home }, /^options\.http must be an http\.Server\. Received /],
    [{ port: 0, http: listening }, /^options\.http must not listen by itself: it gets connections of options\.port\. It listens on \{ address: /],
    [{ noServer: true, http: server }, /^options\.http needs options\.port: /],
    [{ server, http: server }, /^options\.http needs options\.port: /],
  ]) {
    const { message } = t.throws(() => new WebSocketServer(options), { instanceOf: TypeError });
    t.regex(message, expected);
  }
  t.notThrows(() => new WebSocketServer({ noServer: true, http: null }));
});

test('http: where a server of Node listens, it gives its connections', async (t) => {
  const server = httpServer(t, home);
  const wss = await startServer(t, { port: { port: 0, host: '127.0.0.1', readableAll: true }, http: server, path: '/ws' });
  const { client, ws } = await connect(t, wss, { path: '/ws' });
  t.deepEqual(await get(wss, '/page'), { statusCode: 200, body: 'GET /page' });
  const { port } = wss.address();
  t.regex(await talk(t, port, upgradeRequest({ line: 'GET /nobody HTTP/1.1', Connection: 'close, Upgrade' })), /^HTTP\/1\.1 200 OK/);
  ws.close();
  await once(client, 'close');
  const raw = await RawClient.connect(t, port);
  await raw.send(`GET /1 HTTP/1.1\r\n${HOST}\r\n`);
  await raw.until((text) => text.endsWith('/1'));
  wss.close();
  await once(wss, 'close');
  await raw.send(`GET /2 HTTP/1.1\r\n${HOST}${CLOSE}\r\n`);
  t.regex(await raw.closed(), /GET \/2$/);
});

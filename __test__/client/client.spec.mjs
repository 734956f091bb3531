// new WebSocket(url): addresses, the request, the answers that are refused, redirects, TLS.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';

import test from 'ava';

import { cert, key } from '../helpers/certificate.mjs';
import { WebSocket, urlOf } from '../helpers/clients.mjs';
import { startServer } from '../helpers/impl.mjs';
import { OWN_HOST } from '../helpers/own-host.mjs';
import { closeOf } from '../helpers/streams.mjs';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const ABORTED = 'WebSocket was closed before the connection was established';

const accept = (request) => createHash('sha1').update(request.headers['sec-websocket-key'] + GUID).digest('base64');

/** An HTTP server that answers upgrades with the lines that `answer` returns. */
async function httpServer(t, answer, { secure = false, listen = [0, '127.0.0.1'] } = {}) {
  const server = secure ? https.createServer({ cert, key }) : http.createServer();
  const requests = [];
  const sockets = new Set();
  server.on(secure ? 'secureConnection' : 'connection', (socket) => sockets.add(socket));
  server.on('upgrade', (request, socket) => {
    requests.push(request);
    socket.on('error', () => {});
    const lines = answer(request);
    if (lines !== null) socket.write([...lines, '', ''].join('\r\n'));
  });
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  server.listen(...listen);
  await once(server, 'listening');
  const url = `${secure ? 'wss' : 'ws'}://127.0.0.1:${server.address().port}`;
  return { server, requests, url };
}

const switching = (request, ...more) => [
  'HTTP/1.1 101 Switching Protocols',
  'Upgrade: websocket',
  'Connection: Upgrade',
  `Sec-WebSocket-Accept: ${accept(request)}`,
  ...more,
];

function client(t, ...args) {
  const ws = new WebSocket(...args);
  t.teardown(() => {
    if (ws.readyState === WebSocket.CONNECTING) ws.once('error', () => {});
    ws.terminate();
  });
  return ws;
}

/** The message of the error with which a client fails, and its 'close'. */
async function failure(ws) {
  const closed = closeOf(ws);
  const [error] = await once(ws, 'error');
  const [code, reason] = await closed;
  return [error.message, code, reason.length, ws.readyState, ws._socket];
}

const failed = (message) => [message, 1006, 0, 3, null];

for (const [address, message] of [
  ['foo', 'Invalid URL: foo'],
  ['bad-scheme://x', 'The URL\'s protocol must be one of "ws:", "wss:", "http:", "https:", or "ws+unix:"'],
  ['ws+unix:', "The URL's pathname is empty"],
  ['ws://127.0.0.1#fragment', 'The URL contains a fragment identifier'],
]) {
  test(`the address ${address}`, (t) => {
    t.throws(() => new WebSocket(address), { instanceOf: SyntaxError, message });
  });
}

for (const protocols of [[''], ['a', 'a'], ['a,b'], [null], null, ['ä']]) {
  test(`the subprotocols ${JSON.stringify(protocols)}`, (t) => {
    t.throws(() => new WebSocket('ws://127.0.0.1', protocols), {
      instanceOf: SyntaxError,
      message: 'An invalid or duplicated subprotocol was specified',
    });
  });
}

test('the version', (t) => {
  t.throws(() => new WebSocket('ws://127.0.0.1', { protocolVersion: 1000 }), {
    instanceOf: RangeError,
    message: 'Unsupported protocol version: 1000 (supported versions: 8, 13)',
  });
});

test('the request', async (t) => {
  const { requests, url } = await httpServer(t, () => null);
  const options = { origin: 'http://a', headers: { 'X-Y': 'z' }, auth: 'u:p', perMessageDeflate: false };
  client(t, `${url}/p?q`, ['a', 'b'], options);
  client(t, `${url.replace('ws://', 'ws://us%40er:pa%3Ass@')}/2`, { protocols: 'c', protocolVersion: 8, origin: 'o' });
  client(t, new URL(`${url.replace('ws:', 'http:')}/3`));
  while (requests.length < 3) await new Promise(setImmediate);
  // There is no order between connections.
  const [first, second, third] = ['/p?q', '/2', '/3'].map((path) => requests.find((one) => one.url === path).headers);
  t.is(Buffer.from(first['sec-websocket-key'], 'base64').length, 16);
  t.like(first, {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-protocol': 'a,b',
    'sec-websocket-extensions': undefined,
    origin: 'http://a',
    'x-y': 'z',
    authorization: `Basic ${Buffer.from('u:p').toString('base64')}`,
  });
  t.like(second, {
    'sec-websocket-version': '8',
    'sec-websocket-origin': 'o',
    'sec-websocket-protocol': 'c',
    authorization: `Basic ${Buffer.from('us@er:pa:ss').toString('base64')}`,
  });
  t.is(third.host, url.slice('ws://'.length));
});

test('messages, pings and the closing handshake with a server of this package', async (t) => {
  const server = await startServer(t);
  server.on('connection', (ws) => ws.on('message', (data, isBinary) => ws.send(data, { binary: isBinary })));
  const ws = client(t, urlOf(server), 'chat');
  t.is(ws.readyState, 0);
  t.is(ws.url, `${urlOf(server)}/`);
  t.throws(() => ws.send('x'), { message: 'WebSocket is not open: readyState 0 (CONNECTING)' });
  await once(ws, 'open');
  t.is(ws.protocol, 'chat');
  t.true(ws._socket instanceof net.Socket);
  ws.send('häh');
  t.deepEqual(await once(ws, 'message'), [Buffer.from('häh'), false]);
  ws.send(new Uint8Array([1, 2]));
  t.deepEqual(await once(ws, 'message'), [Buffer.from([1, 2]), true]);
  ws.ping('p');
  t.deepEqual(await once(ws, 'pong'), [Buffer.from('p')]);
  ws.close(1000, 'done');
  t.deepEqual(await closeOf(ws), [1000, Buffer.from('done')]);
});

test('a message that comes with the answer', async (t) => {
  const { server, url } = await httpServer(t, () => null);
  server.on('upgrade', (request, socket) => {
    const head = Buffer.from([...switching(request), '', ''].join('\r\n'));
    socket.write(Buffer.concat([head, Buffer.from('8102686981026f6b', 'hex')]));
  });
  const ws = client(t, url, { perMessageDeflate: false });
  const messages = [];
  ws.on('message', (data) => messages.push(data.toString()));
  await once(ws, 'open');
  while (messages.length < 2) await new Promise(setImmediate);
  t.deepEqual(messages, ['hi', 'ok']);
});

const refused = [
  ['a wrong Upgrade', (request) => switching(request).with(1, 'Upgrade: foo'), 'Invalid Upgrade header'],
  ['a wrong key', (request) => switching(request).with(3, 'Sec-WebSocket-Accept: x'), 'Invalid Sec-WebSocket-Accept header'],
  ['no subprotocol', (request) => switching(request), 'Server sent no subprotocol', ['a']],
  ['an unasked subprotocol', (request) => switching(request, 'Sec-WebSocket-Protocol: a'), 'Server sent a subprotocol but none was requested'],
  ['another subprotocol', (request) => switching(request, 'Sec-WebSocket-Protocol: b'), 'Server sent an invalid subprotocol', ['a']],
  [
    'an unasked extension',
    (request) => switching(request, 'Sec-WebSocket-Extensions: foo'),
    'Server sent a Sec-WebSocket-Extensions header but no extension was requested',
  ],
  ['another status', () => ['HTTP/1.1 401 Unauthorized', 'Content-Length: 0'], 'Unexpected server response: 401'],
];
for (const [name, answer, message, protocols = []] of refused) {
  test(`an answer with ${name}`, async (t) => {
    const { url } = await httpServer(t, answer);
    t.deepEqual(await failure(client(t, url, protocols, { perMessageDeflate: false })), failed(message));
  });
}

test('a server that is not there', async (t) => {
  const server = net.createServer().listen(0, OWN_HOST);
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  const ws = client(t, `ws://${OWN_HOST}:${port}`);
  t.deepEqual(await failure(ws), failed(`connect ECONNREFUSED ${OWN_HOST}:${port}`));
});

test('handshakeTimeout', async (t) => {
  const { url } = await httpServer(t, () => null);
  t.deepEqual(await failure(client(t, url, { handshakeTimeout: 50 })), failed('Opening handshake has timed out'));
});

for (const method of ['close', 'terminate']) {
  test(`${method}() while connecting`, async (t) => {
    const { url } = await httpServer(t, () => null);
    const ws = client(t, url);
    ws[method]();
    t.is(ws.readyState, 2);
    t.deepEqual(await failure(ws), failed(ABORTED));
  });
}

test('close() in a listener of `upgrade`', async (t) => {
  const { url } = await httpServer(t, switching);
  const ws = client(t, url);
  ws.on('upgrade', (response) => {
    t.is(response.headers.upgrade, 'websocket');
    ws.close();
  });
  ws.on('open', () => t.fail());
  t.deepEqual(await failure(ws), failed(ABORTED));
});

test('a listener of `unexpected-response` has the answer', async (t) => {
  const { url } = await httpServer(t, () => ['HTTP/1.1 403 Forbidden', 'Content-Length: 3', '', 'no']);
  const ws = client(t, url);
  const [request, response] = await once(ws, 'unexpected-response');
  t.is(response.statusCode, 403);
  t.is(response.req, request);
  const failing = failure(ws);
  ws.terminate();
  t.deepEqual(await failing, failed('WebSocket was closed before the connection was established'));
});

test('finishRequest sends the request', async (t) => {
  const { requests, url } = await httpServer(t, switching);
  const finishRequest = (request, ws) => {
    t.is(ws.readyState, 0);
    request.setHeader('Cookie', 'a=b');
    request.end();
  };
  await once(client(t, url, { finishRequest, perMessageDeflate: false }), 'open');
  t.is(requests[0].headers.cookie, 'a=b');
});

test('an agent, and a function that connects', async (t) => {
  const { url } = await httpServer(t, switching);
  const seen = [];
  class Agent extends http.Agent {
    createConnection(...args) {
      seen.push('agent');
      return super.createConnection(...args);
    }
  }
  const createConnection = (options) => {
    seen.push('function');
    return net.connect(options.port, options.host);
  };
  const agent = new Agent();
  await once(client(t, url, { agent, createConnection: agent.createConnection.bind(agent) }), 'open');
  await once(client(t, url, { createConnection }), 'open');
  t.deepEqual(seen, ['agent', 'function']);
});

const moved = (to) => ['HTTP/1.1 302 Found', `Location: ${to}`, 'Content-Length: 0'];

test('redirects are followed if wanted', async (t) => {
  const { requests, url } = await httpServer(t, (request) => (request.url === '/' ? moved('/next') : switching(request)));
  t.deepEqual(await failure(client(t, url)), failed('Unexpected server response: 302'));
  const ws = client(t, url, { followRedirects: true, auth: 'a:b', headers: { Cookie: 'c' } });
  await once(ws, 'open');
  t.is(ws.url, `${url}/next`);
  t.is(requests.length, 3);
  t.like(requests[2].headers, { cookie: 'c', authorization: `Basic ${Buffer.from('a:b').toString('base64')}` });
});

test('too many redirects, and one to nowhere', async (t) => {
  const { url } = await httpServer(t, () => moved('/'));
  const ws = client(t, url, { followRedirects: true, maxRedirects: 1 });
  t.deepEqual(await failure(ws), failed('Maximum redirects exceeded'));
  const wrong = await httpServer(t, () => moved('http://'));
  const lost = client(t, wrong.url, { followRedirects: true });
  t.deepEqual(await failure(lost), failed('Invalid URL: http://'));
});

test('another host does not get what was meant for the first', async (t) => {
  const other = await httpServer(t, switching);
  const { url } = await httpServer(t, () => moved(other.url));
  const options = { followRedirects: true, auth: 'a:b', headers: { Cookie: 'c', 'X-Y': 'z' } };
  await once(client(t, url, options), 'open');
  t.like(other.requests[0].headers, { cookie: undefined, authorization: undefined, 'x-y': 'z' });

  const ws = client(t, url, options);
  const redirects = [];
  ws.on('redirect', (...args) => redirects.push(args));
  await once(ws, 'open');
  t.is(redirects[0][0], `${other.url}/`);
  t.is(other.requests[1].headers.cookie, 'c');
});

test('TLS', async (t) => {
  const { url } = await httpServer(t, switching, { secure: true });
  t.regex((await failure(client(t, url)))[0], /self.signed/);
  const ws = client(t, url.replace('127.0.0.1', 'localhost'), { ca: cert, lookup: loopback });
  await once(ws, 'open');
  t.true(ws._socket.authorized);
});

function loopback(_name, options, callback) {
  if (options.all) callback(null, [{ address: '127.0.0.1', family: 4 }]);
  else callback(null, '127.0.0.1', 4);
}

(process.platform === 'win32' ? test.skip : test)('ws+unix', async (t) => {
  const socketPath = path.join(os.tmpdir(), `reactor-ws-${process.pid}.sock`);
  const { requests } = await httpServer(t, switching, { listen: [socketPath] });
  await once(client(t, `ws+unix:${socketPath}:/a?b`), 'open');
  t.is(requests[0].url, '/a?b');
});


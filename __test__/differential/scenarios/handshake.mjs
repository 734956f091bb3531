// The answers to upgrade requests, byte for byte.
import net from 'node:net';

import { upgradeRequest } from '../../helpers/raw-client.mjs';
import { section } from '../scenario.mjs';

const s = section('handshake');
export default s;

/** One request, and everything that comes back. */
async function ask(c, port, fields, wss) {
  wss?.once('connection', (ws) => {
    c.log('server', 'connection', ws.protocol, ws.extensions);
    ws.terminate();
  });
  const peer = await c.peer(port);
  await peer.upgrade(fields);
  await peer.closed();
  if (peer.head.includes(' 101 ')) c.log('peer', peer.head);
}

/** A server with these options, and one request for each of several `fields`. */
function answers(title, options, ...requests) {
  s.all(title, async (c) => {
    const { wss, port } = await c.listen(options);
    for (const fields of requests) await ask(c, port, fields, wss);
  });
}

answers('accepted', {}, {});
answers('accepted: version 8', {}, { 'Sec-WebSocket-Version': '8' }, { 'Sec-WebSocket-Version': ' 13 ' });
answers('accepted: names in other cases', {}, { Upgrade: 'WebSocket', Connection: 'keep-alive, UPGRADE' });
answers('accepted: without Host', {}, { Host: null, line: 'GET / HTTP/1.1', 'X-Other': 'a' });
answers('method', {}, { line: 'POST / HTTP/1.1' }, { line: 'HEAD / HTTP/1.1' }, { line: 'PUT /x HTTP/1.1' });
// H06.
answers('Upgrade', {}, { Upgrade: 'h2c' }, { Upgrade: 'websocket, foo' }, { Upgrade: 'websocket/13' }, { Upgrade: 'web socket' });
// H05.
answers(
  'Sec-WebSocket-Key',
  {},
  { 'Sec-WebSocket-Key': null },
  { 'Sec-WebSocket-Key': '' },
  { 'Sec-WebSocket-Key': 'P5l8BJcZwRc=' },
  ...['dGhlIHNhbXBsZSBub25jZQ', 'dGhlIHNhbXBsZSBub25jZQ=', 'dGhlIHNhbXBsZSBub25jZ===', 'dGhlIHNhbXBsZSBub25jZQA='].map((value) => ({ 'Sec-WebSocket-Key': value })),
  { 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25j-_==' },
  { 'Sec-WebSocket-Key': 'AdGhlIHNhbXBsZSBub25jZQ==' },
  { 'Sec-WebSocket-Key': '!GhlIHNhbXBsZSBub25jZQ==' },
  { 'Sec-WebSocket-Key': ['dGhlIHNhbXBsZSBub25jZQ==', 'dGhlIHNhbXBsZSBub25jZQ=='] },
);
// H07.
answers(
  'Sec-WebSocket-Version',
  {},
  { 'Sec-WebSocket-Version': null },
  { 'Sec-WebSocket-Version': '7' },
  { 'Sec-WebSocket-Version': '12' },
  { 'Sec-WebSocket-Version': '14' },
  { 'Sec-WebSocket-Version': '13, 8' },
  { 'Sec-WebSocket-Version': 'thirteen' },
  ...['1 3', '130', '-13', '\x80\xff'].map((value) => ({ 'Sec-WebSocket-Version': value })),
  { 'Sec-WebSocket-Version': '' },
);
answers('a version that is a number in another form', {}, { 'Sec-WebSocket-Version': '013' }, { 'Sec-WebSocket-Version': '0xd' });
answers('path', { path: '/chat' }, { line: 'GET /chat HTTP/1.1' }, { line: 'GET /chat?a=/b HTTP/1.1' });
answers(
  'another path',
  { path: '/chat' },
  { line: 'GET / HTTP/1.1' },
  { line: 'GET /chat/ HTTP/1.1' },
  { line: 'GET /CHAT HTTP/1.1' },
  { line: 'GET /x?/chat HTTP/1.1' },
  { line: 'GET http://example.com/chat HTTP/1.1' },
);
answers('subprotocols: the first one is chosen', {}, { 'Sec-WebSocket-Protocol': 'b, a' }, { 'Sec-WebSocket-Protocol': ' c ' }, { 'Sec-WebSocket-Protocol': '!#$%&*+-.^_`|~09azAZ' });
answers('subprotocols in two headers', {}, { 'Sec-WebSocket-Protocol': ['one', 'two'] });
answers(
  'subprotocols that are no list',
  {},
  ...['', ',', 'a,,b', 'a,a', 'a b', 'a;b', 'a, ', '"a"', 'a\x80', ',a', 'a, ,b', 'b, a, a', 'a/b', '(a)', 'a\x7f', ['a', ''], ['a, b', 'a']].map((value) => ({ 'Sec-WebSocket-Protocol': value })),
);
answers('extensions when compression is off', {}, { 'Sec-WebSocket-Extensions': '~~~ nonsense ,,' });
answers('the order of the checks', {}, { line: 'POST / HTTP/1.1', Upgrade: 'x', 'Sec-WebSocket-Key': 'x' });
answers(
  'the order of the checks, further on',
  { path: '/a' },
  { Upgrade: 'x', 'Sec-WebSocket-Key': 'x', 'Sec-WebSocket-Version': '1' },
  { 'Sec-WebSocket-Key': 'x', 'Sec-WebSocket-Version': '1', 'Sec-WebSocket-Protocol': ',' },
  { 'Sec-WebSocket-Version': '1', 'Sec-WebSocket-Protocol': ',' },
  { 'Sec-WebSocket-Protocol': ',' },
);

s.over('port')('a request that is no upgrade', async (c) => {
  const { port } = await c.listen();
  for (const fields of [{ Upgrade: null, Connection: 'close' }, { line: 'POST / HTTP/1.1', Upgrade: null, Connection: 'close' }]) {
    await ask(c, port, fields);
  }
});

s.over('port')('a request without Connection: Upgrade', async (c) => {
  const { port } = await c.listen();
  await ask(c, port, { Connection: 'close' });
});

const PLAIN = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const LAST = PLAIN.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n');
const line = (text) => upgradeRequest({ line: text });
const extra = (text) => upgradeRequest({ extra: text });

/** Requests as bytes, which a parser of HTTP takes apart or refuses; the last one of each ends the connection. */
const REQUESTS = {
  'plain requests': [LAST, LAST.replace('GET', 'HEAD'), LAST.replace('GET', 'POST'), 'GET / HTTP/1.0\r\n\r\n', PLAIN + LAST],
  'a plain request, kept alive in HTTP/1.0': [`GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n${LAST}`],
  'an upgrade after a plain request': [PLAIN + upgradeRequest()],
  'no upgrade': [{ Upgrade: '' }, { Connection: null }, { Connection: 'xupgrade' }].map((fields) => upgradeRequest(fields) + LAST),
  'fields twice': [['Host', 'a', 'b'], ['Sec-WebSocket-Version', '13', '13'], ['Upgrade', 'websocket', 'websocket'], ['Connection', 'keep-alive', 'upgrade']].map(([name, ...values]) => upgradeRequest({ [name]: values })),
  'empty lines before it': [`\r\n\r\n${upgradeRequest()}`],
  'a head of 17 KiB': [upgradeRequest({ 'X-Padding': 'a'.repeat(17_000) })],
  versions: ['1.0', '1.2', '9.9'].map((version) => line(`GET / HTTP/${version}`)),
  targets: ['foo', '/\xe9\xff', '/\xc3\xa9', '*'].map((target) => line(`GET ${target} HTTP/1.1`)),
  'the HTTP/2 preface, TLS, zeros': ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', `\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03${'\0'.repeat(500)}`, '\0'.repeat(500)],
  'lines that are no fields': ['X-A: b\r\n c\r\n', 'X-A : b\r\n', 'X-A: \0\r\n', 'X-A: a\rb\r\n', 'X-A: a\nX-B: c\r\n', 'X-A\r\n', ': a\r\n'].map(extra),
  'lengths of a body': [{ 'Content-Length': '0' }, { 'Content-Length': 'x' }, { 'Content-Length': ['0', '0'] }, { 'Content-Length': '5', 'Transfer-Encoding': 'chunked' }].map(upgradeRequest),
};
for (const [title, requests] of Object.entries(REQUESTS)) {
  s.over('port')(`bytes: ${title}`, async (c) => {
    const { wss, port } = await c.listen();
    wss.on('connection', (ws) => ws.close(1000));
    for (const request of requests) {
      const peer = await c.peer(port);
      await peer.send(request);
      // A server that waits for more than this is answered by the end.
      peer.end();
      await peer.closed();
    }
  });
}

// H08.
s.over('port')('what is not HTTP', async (c) => {
  const { port } = await c.listen();
  for (const line of ['\r\n\r\nnonsense\r\n\r\n', 'GET / HTTP/9.9\r\n\r\n', 'GET /\r\n\r\n', '\x16\x03\x01\x02\x00\x01\x00']) {
    const peer = await c.peer(port);
    await peer.send(line);
    peer.end();
    await peer.closed();
  }
});

// H13.
s.all('the request in the connection event', async (c) => {
  const fields = {
    line: 'GET /path?query=1&b=%20 HTTP/1.1',
    'X-Repeated': ['a', 'b'],
    'X-UPPER': 'Value',
    Cookie: ['a=1', 'b=2'],
    'X-Latin': 'caf\xe9',
    Origin: 'https://example.com',
  };
  const { req, ws, peer, closed } = await c.open({}, { request: fields });
  c.log('request', req.method, req.url, req.httpVersion, req.httpVersionMajor, req.httpVersionMinor);
  c.log('request', req.headers);
  c.log('request', req.rawHeaders);
  c.log('request', req.headersDistinct);
  c.log('request', req.trailers, req.complete, req.aborted, req.statusCode, req.upgrade);
  c.log('request', req.socket === ws._socket, req.connection === req.socket, req.socket.remoteAddress);
  peer.end();
  await closed;
});

s.all('the request is an IncomingMessage that can be read to its end', async (c) => {
  const { IncomingMessage } = await import('node:http');
  const { req, peer, closed } = await c.open();
  c.log('request', req instanceof IncomingMessage, typeof req.on, req.readable, req.destroyed);
  peer.end();
  await closed;
});

s.all('the client ends before the answer', async (c) => {
  const { wss, port } = await c.listen({
    verifyClient: (info, done) => info.req.socket.on('end', () => setImmediate(done, true)),
  });
  wss.on('connection', () => c.log('server', 'connection'));
  const peer = await c.peer(port);
  peer.answersEnd = true;
  await peer.upgrade();
  peer.end();
  await peer.closed();
});

s.all('two requests in one packet: the second one is no frame', async (c) => {
  await c.session({}, () => {}, { early: Buffer.from(upgradeRequest()) });
});

s.all('ws._socket: addresses', async (c) => {
  const { ws, peer, closed } = await c.open();
  const { remoteAddress, remotePort, remoteFamily, localAddress, localPort, localFamily } = ws._socket;
  if (c.way !== 'stream') c.hidePort(remotePort);
  c.log('socket', remoteAddress, remotePort === peer.socket.localPort, remoteFamily, localAddress, localPort, localFamily);
  c.log('socket', ws._socket.address?.(), ws._socket.destroyed, ws._socket.readable, ws._socket.writable);
  c.log('socket', ws._socket.encrypted, ws._socket.authorized, ws._socket.connecting);
  ws.on('close', () => c.log('socket', 'in close', ws._socket.remoteAddress, ws._socket.destroyed));
  peer.end();
  await closed;
});

s.over('port', 'server')('the socket is a net.Socket', async (c) => {
  const { req, peer, closed } = await c.open();
  c.log('socket', req.socket instanceof net.Socket);
  peer.end();
  await closed;
});

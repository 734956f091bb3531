// The opening handshake over raw sockets, byte for byte. The names h04 to h18
// are those of the engine's tests.
import { once } from 'node:events';

import test from 'ava';

import {
  BAD_HTTP,
  TOO_LARGE,
  METHOD,
  UPGRADE,
  INVALID_KEY,
  VERSION,
  PROTOCOL,
  EXTENSIONS,
  BODY,
  accepted,
  upgradeRequired,
  KEEP_ALIVE,
  CLOSE,
  rows,
  shown,
  unlike
} from '../helpers/answers.mjs';
import { startServer } from '../helpers/impl.mjs';
import { KEY, RawClient, upgradeRequest } from '../helpers/raw-client.mjs';

const NO_BODY = 'a body could be taken for frames';
const HELLO = '81 85 37fa213d 7f9f4d5158';

const offer = (value) => upgradeRequest({ 'Sec-WebSocket-Extensions': value });

rows('plain requests', {}, [
  ['GET', 'GET / HTTP/1.1\r\nHost: x\r\n\r\n', upgradeRequired(KEEP_ALIVE)],
  ['HEAD', 'HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', upgradeRequired(CLOSE, '')],
  ['POST', 'POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', upgradeRequired(CLOSE)],
  ['Connection: close', 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', upgradeRequired(CLOSE)],
  ['HTTP/1.0', 'GET / HTTP/1.0\r\n\r\n', upgradeRequired(CLOSE)],
  ['HTTP/1.0 keep-alive', 'GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n', upgradeRequired(KEEP_ALIVE)],
  ['two at once', 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2), upgradeRequired(KEEP_ALIVE).repeat(2)],
  [
    'an upgrade after a plain request',
    `GET / HTTP/1.1\r\nHost: x\r\n\r\n${upgradeRequest()}`,
    upgradeRequired(KEEP_ALIVE) + accepted()
  ],
  [
    'no Host',
    'HEAD / HTTP/1.1\r\n\r\n',
    BAD_HTTP,
    unlike(BAD_HTTP.replace(/\r\n$/, 'Date: <date>\r\n\r\n'), 'no Date in a 400')
  ]
]);

rows('accepted', {}, [
  ['without Host', upgradeRequest({ Host: null }), accepted()],
  [
    'the first subprotocol',
    upgradeRequest({ 'Sec-WebSocket-Protocol': 'b ,\ta' }),
    accepted('Sec-WebSocket-Protocol: b')
  ],
  [
    'subprotocols in two headers',
    upgradeRequest({ 'Sec-WebSocket-Protocol': ['a', 'b'] }),
    accepted('Sec-WebSocket-Protocol: a')
  ],
  ['an extension that is off', upgradeRequest({ 'Sec-WebSocket-Extensions': 'permessage-deflate' }), accepted()]
]);

rows('h04', {}, [['a head of 17 KiB', upgradeRequest({ 'X-Padding': 'a'.repeat(17_000) }), TOO_LARGE]]);

rows('h05', {}, [
  ['no key', upgradeRequest({ 'Sec-WebSocket-Key': null }), INVALID_KEY],
  ['an empty key', upgradeRequest({ 'Sec-WebSocket-Key': '' }), INVALID_KEY],
  ['a key of 23 characters', upgradeRequest({ 'Sec-WebSocket-Key': KEY.slice(0, -1) }), INVALID_KEY],
  ['a key of 17 bytes', upgradeRequest({ 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQA=' }), INVALID_KEY],
  ['a key that is not base64', upgradeRequest({ 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25j-_==' }), INVALID_KEY],
  ['two keys', upgradeRequest({ 'Sec-WebSocket-Key': [KEY, KEY] }), INVALID_KEY]
]);

rows('h06', {}, [
  ['no Upgrade', upgradeRequest({ Upgrade: null }), upgradeRequired(KEEP_ALIVE)],
  ['an empty Upgrade', upgradeRequest({ Upgrade: '' }), upgradeRequired(KEEP_ALIVE)],
  ['Upgrade: h2c', upgradeRequest({ Upgrade: 'h2c' }), UPGRADE],
  ['Upgrade: WebSocket', upgradeRequest({ Upgrade: 'WebSocket' }), accepted()],
  ['Upgrade: websocket, h2c', upgradeRequest({ Upgrade: 'websocket, h2c' }), UPGRADE],
  ['no Connection', upgradeRequest({ Connection: null }), upgradeRequired(KEEP_ALIVE)],
  ['Connection: keep-alive', upgradeRequest({ Connection: 'keep-alive' }), upgradeRequired(KEEP_ALIVE)],
  ['Connection: xupgrade', upgradeRequest({ Connection: 'xupgrade' }), upgradeRequired(KEEP_ALIVE)],
  ['Connection: keep-alive, UPGRADE', upgradeRequest({ Connection: 'keep-alive, UPGRADE' }), accepted()],
  ['Connection: close, upgrade', upgradeRequest({ Connection: 'close, upgrade' }), accepted()],
  ['two Connection headers', upgradeRequest({ Connection: ['keep-alive', 'upgrade'] }), accepted()]
]);

rows('h07', {}, [
  ['no version', upgradeRequest({ 'Sec-WebSocket-Version': null }), VERSION],
  ...['7', '12', '13, 8', '1 3', '\x80\xff'].map((version) => [
    `version ${shown(version)}`,
    upgradeRequest({ 'Sec-WebSocket-Version': version }),
    VERSION
  ]),
  ['version " 13 "', upgradeRequest({ 'Sec-WebSocket-Version': ' 13 ' }), accepted()],
  ['version 8', upgradeRequest({ 'Sec-WebSocket-Version': '8' }), accepted()],
  ...['013', '0xd', '13.0', '13\xa0'].map((version) => [
    `version ${shown(version)}`,
    upgradeRequest({ 'Sec-WebSocket-Version': version }),
    VERSION,
    unlike(accepted(), 'the RFC has one spelling')
  ]),
  [
    'draft 76',
    upgradeRequest({
      'Sec-WebSocket-Key': null,
      'Sec-WebSocket-Version': null,
      'Sec-WebSocket-Key1': '4 @1  46546xW%0l 1 5',
      'Sec-WebSocket-Key2': '12998 5 Y3 1  .P00'
    }),
    INVALID_KEY
  ]
]);

rows('h08', {}, [
  ['POST', upgradeRequest({ line: 'POST / HTTP/1.1' }), METHOD],
  ['an unknown method', upgradeRequest({ line: 'FOO / HTTP/1.1' }), METHOD, unlike(BAD_HTTP, 'no list of methods')],
  ['get', upgradeRequest({ line: 'get / HTTP/1.1' }), METHOD, unlike(BAD_HTTP, 'no list of methods')],
  ['CONNECT', upgradeRequest({ line: 'CONNECT x:1 HTTP/1.1' }), BAD_HTTP, unlike('', 'Node closes without an answer')],
  ['HTTP/1.0', upgradeRequest({ line: 'GET / HTTP/1.0' }), accepted()],
  ['HTTP/1.2', upgradeRequest({ line: 'GET / HTTP/1.2' }), BAD_HTTP],
  ['HTTP/2.0', upgradeRequest({ line: 'GET / HTTP/2.0' }), BAD_HTTP, unlike(accepted(), 'it is not HTTP/1')],
  ['HTTP/9.9', upgradeRequest({ line: 'GET / HTTP/9.9' }), BAD_HTTP],
  ['the HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', BAD_HTTP],
  ['a TLS ClientHello', `\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03${'\0'.repeat(500)}`, BAD_HTTP],
  ['zeros', '\0'.repeat(500), BAD_HTTP]
]);

rows('h09', {}, [
  [
    '2000 headers',
    upgradeRequest({ extra: 'a:\r\n'.repeat(2000) }),
    TOO_LARGE,
    unlike(accepted(), 'Node drops the headers beyond its limit')
  ]
]);

rows('h11', {}, [
  ['two Hosts', upgradeRequest({ Host: ['a', 'b'] }), accepted()],
  ['two versions', upgradeRequest({ 'Sec-WebSocket-Version': ['13', '13'] }), VERSION],
  ['two Upgrades', upgradeRequest({ Upgrade: ['websocket', 'websocket'] }), UPGRADE],
  ['a folded header', upgradeRequest({ extra: 'X-A: b\r\n c\r\n' }), BAD_HTTP],
  ['bare line feeds', upgradeRequest().replaceAll('\r\n', '\n'), BAD_HTTP],
  ['a space before the colon', upgradeRequest({ extra: 'X-A : b\r\n' }), BAD_HTTP],
  ['a NUL in a value', upgradeRequest({ extra: 'X-A: \0\r\n' }), BAD_HTTP],
  ['a carriage return in a value', upgradeRequest({ extra: 'X-A: a\rb\r\n' }), BAD_HTTP],
  ['a line feed in a value', upgradeRequest({ extra: 'X-A: a\nX-B: c\r\n' }), BAD_HTTP],
  ['a header without a colon', upgradeRequest({ extra: 'X-A\r\n' }), BAD_HTTP],
  ['a header without a name', upgradeRequest({ extra: ': a\r\n' }), BAD_HTTP],
  ['empty lines first', `\r\n\r\n${upgradeRequest()}`, accepted()],
  ['a bare line feed first', `\n${upgradeRequest()}`, BAD_HTTP, unlike(accepted(), 'RFC 9112, section 2.2')],
  ['two spaces', upgradeRequest({ line: 'GET  / HTTP/1.1' }), BAD_HTTP, unlike(accepted(), 'RFC 9112, section 3')],
  ['a space at the end', upgradeRequest({ line: 'GET / HTTP/1.1 ' }), BAD_HTTP]
]);

rows('h12', {}, [
  ['a target without a slash', upgradeRequest({ line: 'GET foo HTTP/1.1' }), BAD_HTTP],
  ['a latin1 target', upgradeRequest({ line: 'GET /\xe9\xff HTTP/1.1' }), BAD_HTTP],
  ['a UTF-8 target', upgradeRequest({ line: 'GET /\xc3\xa9 HTTP/1.1' }), BAD_HTTP]
]);

for (const target of [
  'http://169.254.169.254/',
  '*',
  '//x',
  '/a?b=http://c#d',
  '/"<>{}|\\^`',
  `/${'%00'.repeat(2700)}`
]) {
  test(`h12: ${target.slice(0, 30)} is req.url as it is`, async (t) => {
    const server = await startServer(t);
    const client = await RawClient.connect(t, server.address().port);
    client.send(upgradeRequest({ line: `GET ${target} HTTP/1.1` }));
    const [, request] = await once(server, 'connection');
    t.is(request.url, target);
    t.is(request.method, 'GET');
    t.is(request.httpVersion, '1.1');
  });
}

test('h13: values beyond ASCII are latin1 in req.headers and req.rawHeaders', async (t) => {
  const server = await startServer(t);
  const client = await RawClient.connect(t, server.address().port);
  client.send(
    upgradeRequest({ Host: '\xff\x80', Origin: '\xe9', 'X-A': ['\x80', '', 'b'], Cookie: ['a=\xc3', 'b'] })
  );
  const [, { headers, rawHeaders }] = await once(server, 'connection');
  t.is(headers.host, '\xff\x80');
  t.is(headers.origin, '\xe9');
  t.is(headers['x-a'], '\x80, , b');
  t.is(headers.cookie, 'a=\xc3; b');
  t.deepEqual(rawHeaders, [
    ...['Host', '\xff\x80', 'Upgrade', 'websocket', 'Connection', 'Upgrade'],
    ...['Sec-WebSocket-Key', KEY, 'Sec-WebSocket-Version', '13'],
    ...['Origin', '\xe9', 'X-A', '\x80', 'X-A', '', 'X-A', 'b', 'Cookie', 'a=\xc3', 'Cookie', 'b']
  ]);
});

rows('h13', {}, [
  ['extensions beyond ASCII, unread', upgradeRequest({ 'Sec-WebSocket-Extensions': '\x80' }), accepted()],
  ...['', ',', 'a,', ',a', 'a,,b', 'a,a', 'b, a, a', 'a b', 'a/b', '"a"', '\x80', 'a\xff'].map((list) => [
    `subprotocols ${shown(list)}`,
    upgradeRequest({ 'Sec-WebSocket-Protocol': list }),
    PROTOCOL
  ]),
  ['a second header without subprotocols', upgradeRequest({ 'Sec-WebSocket-Protocol': ['a', ''] }), PROTOCOL]
]);

rows('h13, perMessageDeflate', { perMessageDeflate: true }, [
  ['extensions beyond ASCII', offer('\x80'), EXTENSIONS]
]);

const deflate = (params = '') => accepted(`Sec-WebSocket-Extensions: permessage-deflate${params}`);

rows('h14', {}, [
  ...[';;;', ',,', 'a; b="', 'permessage-deflate; client_max_window_bits=99999999999'].map((value) => [
    `${value} is not read`,
    offer(value),
    accepted()
  ])
]);

rows('h14, perMessageDeflate', { perMessageDeflate: true }, [
  ['the plain offer', offer('permessage-deflate'), deflate()],
  [
    'a hint',
    offer('permessage-deflate; client_max_window_bits'),
    deflate()
  ],
  [
    'the second offer',
    offer('a, permessage-deflate; server_max_window_bits=10'),
    deflate('; server_max_window_bits=10')
  ],
  [
    'a quoted value',
    offer('permessage-deflate; client_max_window_bits="9"'),
    deflate('; client_max_window_bits=9')
  ],
  ...['constructor', '__proto__', 'x-webkit-deflate-frame'].map((name) => [name, offer(name), accepted()]),
  ['7000 offers', offer(Array(7000).fill('a').join()), accepted()],
  ...[
    '',
    ';;;',
    ',,',
    'permessage-deflate,',
    'permessage-deflate; a',
    'permessage-deflate; __proto__',
    `permessage-deflate${'; a'.repeat(5000)}`,
    'permessage-deflate; server_no_context_takeover; server_no_context_takeover',
    'permessage-deflate; server_no_context_takeover=1',
    'permessage-deflate; server_max_window_bits',
    'permessage-deflate; client_max_window_bits=',
    'permessage-deflate; client_max_window_bits=7',
    'permessage-deflate; client_max_window_bits=16',
    'permessage-deflate; client_max_window_bits=99999999999',
    'permessage-deflate; client_max_window_bits="9'
  ].map((value) => [value.slice(0, 60), offer(value), EXTENSIONS])
]);

rows('h15', { perMessageDeflate: true }, [
  ['16 KiB of spaces and commas', upgradeRequest({ 'Sec-WebSocket-Protocol': `a${' ,'.repeat(7800)}` }), PROTOCOL],
  ['16 KiB of spaces inside', upgradeRequest({ 'Sec-WebSocket-Protocol': `a${' '.repeat(15_500)}b` }), PROTOCOL],
  ['16 KiB of spaces', upgradeRequest({ 'Sec-WebSocket-Protocol': ' '.repeat(15_500) }), PROTOCOL],
  ['escapes', offer(`a; b="${'\\c'.repeat(7800)}"`), accepted()],
  ['commas', offer(`a${' , '.repeat(5000)}`), EXTENSIONS]
]);

rows('h18', {}, [
  ['Content-Length: 0', upgradeRequest({ 'Content-Length': '0' }), accepted()],
  ['Content-Length: x', upgradeRequest({ 'Content-Length': 'x' }), BAD_HTTP],
  ['two Content-Lengths', upgradeRequest({ 'Content-Length': ['0', '0'] }), BAD_HTTP],
  ['both', upgradeRequest({ 'Content-Length': '5', 'Transfer-Encoding': 'chunked' }), BAD_HTTP],
  ['a length', upgradeRequest({ 'Content-Length': '5' }), BODY, unlike(accepted(), NO_BODY)],
  ['chunks', upgradeRequest({ 'Transfer-Encoding': 'chunked' }), BODY, unlike(accepted(), NO_BODY)]
]);

/**
 * Sends the parts one by one and resolves with the answer and the
 * messages, of which `count` must come.
 */
async function converse(t, parts, count) {
  const server = await startServer(t);
  const messages = [];
  const all = new Promise((resolve) => {
    server.on('connection', (webSocket) => {
      webSocket.on('message', (data) => {
        if (messages.push(data.toString()) === count) resolve();
      });
    });
  });
  const client = await RawClient.connect(t, server.address().port);
  for (const part of parts) {
    await client.send(part);
    // Gives the server, which shares this thread or this machine, a
    // turn to read the part by itself.
    await new Promise(setImmediate);
  }
  await all;
  const text = await client.until((received) => received.length >= accepted().length);
  server.close();
  return { text, messages };
}

const helloFrame = Buffer.from(HELLO.replaceAll(' ', ''), 'hex');
const requestAndFrame = Buffer.concat([Buffer.from(upgradeRequest()), helloFrame]);

test('h17: every split of request and first frame', async (t) => {
  for (let at = 1; at < requestAndFrame.length; at++) {
    const parts = [requestAndFrame.subarray(0, at), requestAndFrame.subarray(at)];
    const { text, messages } = await converse(t, parts, 1);
    t.deepEqual({ text, messages }, { text: accepted(), messages: ['Hello'] }, `split at ${at}`);
  }
});

test('h17: byte by byte', async (t) => {
  const parts = Array.from(requestAndFrame, (byte) => Buffer.of(byte));
  t.deepEqual(await converse(t, parts, 1), { text: accepted(), messages: ['Hello'] });
});

test('h17: a thousand frames behind the request', async (t) => {
  const bytes = Buffer.concat([Buffer.from(upgradeRequest()), ...Array(1000).fill(helloFrame)]);
  t.deepEqual(await converse(t, [bytes], 1000), { text: accepted(), messages: Array(1000).fill('Hello') });
});

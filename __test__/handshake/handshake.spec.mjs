// The opening handshake, byte for byte. Names from h04 to h18 are from the engine's tests.
import { once } from 'node:events';

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
import { KEY, RawClient, startServer, test, upgradeRequest } from '../helpers/index.mjs';

const NO_BODY = 'a body could be taken for frames';

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

rows('h04', {}, [['a head of 17 KiB', upgradeRequest({ 'X-Padding': 'a'.repeat(17_000) }), TOO_LARGE]]);

rows('h06', {}, [
  ['no Upgrade', upgradeRequest({ Upgrade: null }), upgradeRequired(KEEP_ALIVE)],
  ['an empty Upgrade', upgradeRequest({ Upgrade: '' }), upgradeRequired(KEEP_ALIVE)],
  ['no Connection', upgradeRequest({ Connection: null }), upgradeRequired(KEEP_ALIVE)],
  ['Connection: keep-alive', upgradeRequest({ Connection: 'keep-alive' }), upgradeRequired(KEEP_ALIVE)],
  ['Connection: xupgrade', upgradeRequest({ Connection: 'xupgrade' }), upgradeRequired(KEEP_ALIVE)],
  ['Connection: close, upgrade', upgradeRequest({ Connection: 'close, upgrade' }), accepted()],
  ['two Connection headers', upgradeRequest({ Connection: ['keep-alive', 'upgrade'] }), accepted()]
]);

rows('h07', {}, [
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
  ['empty lines before it', `\r\n\r\n${upgradeRequest()}`, accepted()],
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
  ['a bare line feed first', `\n${upgradeRequest()}`, BAD_HTTP, unlike(accepted(), 'RFC 9112, section 2.2')],
  ['two spaces', upgradeRequest({ line: 'GET  / HTTP/1.1' }), BAD_HTTP, unlike(accepted(), 'RFC 9112, section 3')],
  ['a space at the end', upgradeRequest({ line: 'GET / HTTP/1.1 ' }), BAD_HTTP]
]);

rows('h12', {}, [
  ['a target without a slash', upgradeRequest({ line: 'GET foo HTTP/1.1' }), BAD_HTTP],
  ['a latin1 target', upgradeRequest({ line: 'GET /\xe9\xff HTTP/1.1' }), BAD_HTTP],
  ['a UTF-8 target', upgradeRequest({ line: 'GET /\xc3\xa9 HTTP/1.1' }), BAD_HTTP]
]);

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

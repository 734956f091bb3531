// Offers of permessage-deflate: the answers of this server, on both of its ways to
// negotiate, and that of ws, side by side.
import { once } from 'node:events';
import { createRequire } from 'node:module';
import net from 'node:net';

import { randomNumbers, startServer, startServerBehind, test } from '../helpers/index.mjs';

const reference = createRequire(import.meta.url)('ws').WebSocketServer;

const OPTIONS = [
  true,
  { serverNoContextTakeover: true, clientNoContextTakeover: true },
  { serverNoContextTakeover: false, clientNoContextTakeover: false },
  { serverMaxWindowBits: 10, clientMaxWindowBits: 11 },
  { serverMaxWindowBits: false, clientMaxWindowBits: false },
  { serverMaxWindowBits: true, clientMaxWindowBits: true, serverNoContextTakeover: 0 },
  { serverMaxWindowBits: 15, clientNoContextTakeover: true },
  { clientMaxWindowBits: 8, serverMaxWindowBits: 8 },
  false,
];

const FIXED = [
  '', ';;;', ',,', 'permessage-deflate', 'permessage-deflate,', 'permessage-deflate;', 'constructor', '__proto__; a',
  'permessage-deflate; __proto__', 'permessage-deflate; __proto__=1', 'foo', 'foo; bar="baz', 'foo; bar="b\\az"',
  'x-webkit-deflate-frame, permessage-deflate', 'permessage-deflate; server_max_window_bits="9"',
  'permessage-deflate; client_max_window_bits="1\\0"', 'permessage-deflate ; client_max_window_bits = 10',
  'permessage-deflate;client_max_window_bits=10;\tserver_no_context_takeover', 'Permessage-Deflate',
  'permessage-deflate; client_max_window_bits, permessage-deflate',
  'permessage-deflate; client_max_window_bits=99999999999', 'permessage-deflate; client_max_window_bits=',
  'permessage-deflate; server_no_context_takeover=1', 'permessage-deflate; client_max_window_bits=0xb',
];

const PARAMS = [
  'server_no_context_takeover', 'client_no_context_takeover', 'client_max_window_bits', 'server_max_window_bits=8',
  'server_max_window_bits=9', 'server_max_window_bits=10', 'server_max_window_bits=15', 'client_max_window_bits=8',
  'client_max_window_bits=10', 'client_max_window_bits=11', 'client_max_window_bits=15',
];
const RARE = [
  'server_max_window_bits', 'server_max_window_bits=7', 'client_max_window_bits=16', 'unknown', 'a=b',
  'client_max_window_bits=0xb', 'server_max_window_bits="12"', 'client_max_window_bits=1e1', 'server_max_window_bits=010',
  'client_max_window_bits=+9', 'client_max_window_bits=9.5', 'server_no_context_takeover=true', 'client_max_window_bits=0b1010',
  'client_max_window_bits=Infinity', 'client_max_window_bits=9.', 'client_max_window_bits=-0x9',
];

function generated(count) {
  const random = randomNumbers(7);
  const pick = (list) => list[random(list.length)];
  return Array.from({ length: count }, () =>
    Array.from({ length: 1 + random(3) }, () => {
      const params = Array.from({ length: random(4) }, () => pick(random(6) === 0 ? RARE : PARAMS));
      return [random(8) === 0 ? 'other' : 'permessage-deflate', ...params].join(pick(['; ', ';', ' ; ']));
    }).join(pick([', ', ','])),
  );
}

/** The answer without the parts that differ from one handshake to the next. */
async function answerTo(port, offer) {
  const socket = net.connect(port, '127.0.0.1');
  const lines = [
    'GET / HTTP/1.1', 'Host: a', 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', `Sec-WebSocket-Extensions: ${offer}`, '', '',
  ];
  socket.write(lines.join('\r\n'));
  let text = '';
  for await (const chunk of socket) {
    text += chunk;
    // The body of a refusal comes with its head, or before the end.
    if (text.startsWith('HTTP/1.1 101') && text.includes('\r\n\r\n')) break;
  }
  socket.destroy();
  return text;
}

const OFFERS = [...FIXED, ...generated(60)];

for (const perMessageDeflate of OPTIONS) {
  test(`${OFFERS.length} offers to ${JSON.stringify(perMessageDeflate)}`, async (t) => {
    const server = await startServer(t, { perMessageDeflate });
    const behind = await startServerBehind(t, { perMessageDeflate });
    const other = new reference({ port: 0, host: '127.0.0.1', perMessageDeflate });
    t.teardown(() => {
      for (const client of other.clients) client.terminate();
      other.close();
    });
    await once(other, 'listening');
    let accepted = 0;
    for (const offer of OFFERS) {
      const [ours, ofBehind, theirs] = await Promise.all(
        [server, behind, other].map((one) => answerTo(one.address().port, offer)),
      );
      t.is(ours, theirs, offer);
      t.is(ofBehind, theirs, `${offer} behind an HTTP server`);
      if (ours.includes('Sec-WebSocket-Extensions')) accepted++;
    }
    t.true(perMessageDeflate ? accepted > 5 : accepted === 0, `${accepted} accepted`);
  });
}

for (const [way, start] of Object.entries({ port: startServer, server: startServerBehind })) {
  test(`${way}: several headers are one list, and refusals reach wsClientError`, async (t) => {
    const server = await start(t, { perMessageDeflate: true });
    const lines = 'foo\r\nSec-WebSocket-Extensions: permessage-deflate; client_no_context_takeover';
    t.true(
      (await answerTo(server.address().port, lines)).includes(
        'Sec-WebSocket-Extensions: permessage-deflate; client_no_context_takeover\r\n',
      ),
    );
    const refused = once(server, 'wsClientError');
    server.once('wsClientError', (_error, socket) => socket.destroy());
    await answerTo(server.address().port, ';;').catch(() => {});
    t.is((await refused)[0].message, 'Invalid or unacceptable Sec-WebSocket-Extensions header');
  });
}

test('h14: 16 KiB of offers and of parameters are answered at once', async (t) => {
  const server = await startServer(t, { perMessageDeflate: true });
  const { port } = server.address();
  t.true((await answerTo(port, Array(1600).fill('a').join(', ') + ', permessage-deflate')).includes(' 101 '));
  t.true((await answerTo(port, `permessage-deflate${'; a=b'.repeat(2500)}`)).includes(' 400 '));
  for (const client of server.clients) client.terminate();
});

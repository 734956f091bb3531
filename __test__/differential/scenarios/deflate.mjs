// H14, Z05, Z06. permessage-deflate: the negotiated parameters, and compressed messages of both directions.
import { randomBytes } from 'node:crypto';
import zlib from 'node:zlib';

import { frame } from '../../helpers/clients.mjs';
import { randomNumbers } from '../../helpers/random.mjs';
import { section } from '../scenario.mjs';
import { outcome } from '../show.mjs';

const s = section('deflate');
export default s;

const OFFER = 'permessage-deflate; client_max_window_bits';
const CLOSE = frame(8, Buffer.from([3, 232]));

const raw = (text, options) => zlib.deflateRawSync(text, { finishFlush: zlib.constants.Z_SYNC_FLUSH, ...options }).subarray(0, -4);

/** A compressed frame of a client. */
const compressed = (opcode, data, fin = true) => {
  const bytes = frame(opcode, data, fin);
  bytes[0] |= 0x40;
  return bytes;
};

const offering = (header) => ({ request: { 'Sec-WebSocket-Extensions': header } });
const ALL = { threshold: 0 };

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

const OFFERS = [...FIXED, ...generated(60)];

/** The whole answers to offers, by the server, and by JavaScript behind an HTTP server. */
for (const perMessageDeflate of OPTIONS) {
  s.over('port', 'server')(`offers to ${JSON.stringify(perMessageDeflate)}`, async (c) => {
    const { wss, port } = await c.listen({ perMessageDeflate });
    wss.on('connection', (ws) => {
      c.log('server', 'extensions', ws.extensions);
      ws.terminate();
    });
    for (const offer of OFFERS) {
      const peer = await c.peer(port);
      await peer.upgrade({ 'Sec-WebSocket-Extensions': offer });
      await peer.closed();
      c.log('peer', offer, peer.head);
    }
  });
}
s.all("several headers are one list, and refusals reach 'wsClientError'", async (c) => {
  const { wss, port } = await c.listen({ perMessageDeflate: true });
  wss.on('connection', (ws) => ws.terminate());
  wss.on('wsClientError', (error, socket) => {
    c.log('server', error);
    socket.end('HTTP/1.1 400 Mine\r\n\r\n');
  });
  for (const offer of [['foo', 'permessage-deflate; client_no_context_takeover'], ';;']) {
    const peer = await c.peer(port);
    await peer.upgrade({ 'Sec-WebSocket-Extensions': offer });
    await peer.closed();
    c.log('peer', peer.head);
  }
});
s.over('port')('16 KiB of offers and of parameters are answered', async (c) => {
  const { wss, port } = await c.listen({ perMessageDeflate: true });
  wss.on('connection', (ws) => ws.terminate());
  for (const offer of [`${Array(1600).fill('a').join(', ')}, permessage-deflate`, `permessage-deflate${'; a=b'.repeat(2500)}`]) {
    const peer = await c.peer(port);
    await peer.upgrade({ 'Sec-WebSocket-Extensions': offer });
    await peer.closed();
    c.log('peer', peer.head);
  }
});

/** A session with compression. */
const session = (title, options, act, offer = OFFER) =>
  s.all(title, (c) => c.session({ perMessageDeflate: options }, (one) => act(one, c), offering(offer)));

session('compressed messages come in plain', ALL, ({ peer }) =>
  peer.send(Buffer.concat([compressed(1, raw('hello')), compressed(2, raw('')), frame(1, 'plain'), CLOSE])),
);
session('a compressed message in fragments', ALL, ({ peer }) => {
  const data = raw('a message in three fragments');
  return peer.send(
    Buffer.concat([compressed(1, data.subarray(0, 5), false), frame(9, 'p'), frame(0, data.subarray(5, 9), false), frame(0, data.subarray(9)), CLOSE]),
  );
});
session('the peer uses its context', ALL, ({ peer }) => {
  const deflate = zlib.deflateRawSync(Buffer.from('hello hello'), { finishFlush: zlib.constants.Z_SYNC_FLUSH });
  return peer.send(Buffer.concat([compressed(1, deflate.subarray(0, -4)), compressed(1, raw('again', { dictionary: Buffer.from('hello hello') })), CLOSE]));
});
session('messages leave compressed, small ones too with context takeover', true, async ({ ws, peer }) => {
  ws.send('hello');
  ws.send('hello');
  ws.send(Buffer.from('bytes'));
  ws.send('');
  ws.close(1000);
  await peer.frames(5);
  await peer.send(CLOSE);
});
session('the threshold, where the server has no context takeover', { threshold: 5, serverNoContextTakeover: true }, async ({ ws, peer }) => {
  ws.send('four');
  ws.send('fives');
  ws.send('fi', { fin: false });
  ws.send('x'.repeat(20));
  ws.close(1000);
  await peer.frames(5);
  await peer.send(CLOSE);
});
session('compress false, and fragments', ALL, async ({ ws, peer }) => {
  ws.send('plain', { compress: false });
  ws.send('a', { fin: false });
  ws.send('b', { fin: false, compress: false });
  ws.send('c');
  ws.send('a', { fin: false, compress: false });
  ws.send('b', { compress: true });
  ws.close(1000);
  await peer.frames(7);
  await peer.send(CLOSE);
});
session('order: compressed messages, pings, callbacks, close', ALL, async ({ ws, peer }, c) => {
  ws.send('first', (error) => c.log('callbacks', 'first', error));
  ws.ping('ping', undefined, (error) => c.log('callbacks', 'ping', error));
  ws.send('second', { compress: false }, (error) => c.log('callbacks', 'second', error));
  ws.close(1000, 'last');
  await peer.frames(4);
  await peer.send(CLOSE);
});
session('what is not deflate', ALL, ({ peer }) => peer.send(compressed(1, Buffer.from('ffffff', 'hex'))));
// A block with BFINAL ends a stream, and what follows in its frame counts no more.
const final = (text, after = '00') => Buffer.concat([zlib.deflateRawSync(text), Buffer.from(after, 'hex')]);
for (const [title, frames] of Object.entries({
  'a block with BFINAL, and messages': [compressed(1, final('one')), compressed(1, final('two', '')), compressed(1, raw('three'))],
  'a block with BFINAL, and more in its frame': [compressed(1, Buffer.concat([final('one', ''), raw('two')])), compressed(1, final('three', 'ffff'))],
  'a block with BFINAL in each fragment': [compressed(1, final('one'), false), frame(0, final('two')), compressed(1, raw('three'))],
  'a block with BFINAL that is empty': [compressed(1, Buffer.from([3, 0])), compressed(1, Buffer.from([3, 0, 0])), compressed(1, raw('three'))],
  'a block with BFINAL, and a reference to what is before': [compressed(1, final('hello')), compressed(1, Buffer.from('f200110000', 'hex'))],
  'a block with BFINAL that ends with its fragment': [compressed(1, final('one', ''), false), frame(0, raw('two'))],
  'a block with BFINAL that the trailer ends': [compressed(1, Buffer.from([1])), compressed(1, raw('two')), compressed(1, raw('three'))],
})) {
  session(title, ALL, ({ peer }) => peer.send(Buffer.concat([...frames, CLOSE])));
}
session('RSV1 of a continuation', ALL, ({ peer }) => peer.send(Buffer.concat([frame(1, 'a', false), compressed(0, 'b')])));
session('RSV1 of a control frame', ALL, ({ peer }) => peer.send(compressed(9, 'p')));
session('invalid UTF-8 that was compressed', ALL, ({ peer }) => peer.send(compressed(1, raw(Buffer.from('c328', 'hex')))));

s.all('inflated above maxPayload', (c) =>
  c.session({ perMessageDeflate: true, maxPayload: 50 }, ({ peer }) => peer.send(compressed(1, raw('x'.repeat(51)))), offering(OFFER)),
);
s.all('compression off: RSV1 is refused', (c) =>
  c.session({}, ({ ws, peer }) => {
    c.log('server', ws.extensions);
    return peer.send(compressed(1, raw('x')));
  }, offering(OFFER)),
);
s.all('allowSynchronousEvents false with compression', (c) =>
  c.session(
    { perMessageDeflate: ALL, allowSynchronousEvents: false },
    ({ peer }) => peer.send(Buffer.concat([compressed(1, raw('a')), frame(1, 'b'), compressed(2, raw('c')), CLOSE])),
    offering(`${OFFER}; client_no_context_takeover`),
  ),
);
s.all('terminate() while a message is being compressed', async (c) => {
  const { ws, peer, closed } = await c.open({ perMessageDeflate: ALL }, offering(OFFER));
  // A thread of ours can be quick enough to compress and send a message that the kernel takes.
  peer.socket.pause();
  const called = new Promise((resolve) => {
    ws.send(randomBytes(12_000_000), (error) => c.log('callbacks', 'first', error instanceof Error));
    ws.send('y', (error) => {
      c.log('callbacks', 'second', error instanceof Error);
      resolve();
    });
  });
  ws.terminate();
  await Promise.all([closed, called]);
});

s.once('options that zlib does not take', (c) => {
  for (const perMessageDeflate of [{ serverMaxWindowBits: 10 }, {}, { zlibDeflateOptions: { level: 9 } }, { concurrencyLimit: 3 }]) {
    c.log('made', outcome(() => new c.WebSocketServer({ noServer: true, perMessageDeflate }).options.perMessageDeflate));
  }
});

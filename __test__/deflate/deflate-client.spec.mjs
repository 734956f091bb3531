// permessage-deflate of the client: its offers and its results for answers, beside those of ws, and
// messages with a server of ws.
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import { createRequire } from 'node:module';

import { ALL_WAYS as WAYS, WebSocket, cert, isReference, listenFree, test, urlOf } from '../helpers/index.mjs';

const reference = createRequire(import.meta.url)('ws');

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

const OPTIONS = [
  undefined,
  true,
  false,
  { serverNoContextTakeover: true, clientNoContextTakeover: true },
  { serverNoContextTakeover: false, clientNoContextTakeover: false },
  { serverMaxWindowBits: 10, clientMaxWindowBits: 11 },
  { serverMaxWindowBits: true, clientMaxWindowBits: true, serverNoContextTakeover: true },
  { serverMaxWindowBits: false, clientMaxWindowBits: false },
  { clientMaxWindowBits: null, threshold: 5 },
];

const ANSWERS = [
  undefined, '', ';', 'permessage-deflate', 'permessage-deflate;', 'permessage-deflate, permessage-deflate', 'foo',
  'permessage-deflate, foo', 'Permessage-Deflate', 'permessage-deflate; foo', 'permessage-deflate; foo=1', 'constructor',
  'permessage-deflate; server_no_context_takeover', 'permessage-deflate; client_no_context_takeover',
  'permessage-deflate; server_no_context_takeover; client_no_context_takeover',
  'permessage-deflate; client_no_context_takeover; client_no_context_takeover',
  'permessage-deflate; server_no_context_takeover=1', 'permessage-deflate; server_max_window_bits=10',
  'permessage-deflate; server_max_window_bits', 'permessage-deflate; server_max_window_bits=7',
  'permessage-deflate; server_max_window_bits=15', 'permessage-deflate; client_max_window_bits',
  'permessage-deflate; client_max_window_bits=8', 'permessage-deflate; client_max_window_bits=10',
  'permessage-deflate; client_max_window_bits="11"', 'permessage-deflate; client_max_window_bits=12',
  'permessage-deflate; client_max_window_bits=15', 'permessage-deflate; client_max_window_bits=16',
  'permessage-deflate; server_max_window_bits=9; client_max_window_bits=9; client_no_context_takeover',
];

/** A server whose answer to the path /n is the n-th answer. */
async function startAnswering(t) {
  const server = http.createServer();
  server.on('upgrade', (request, socket) => {
    socket.on('error', () => {});
    const accept = createHash('sha1').update(request.headers['sec-websocket-key'] + GUID).digest('base64');
    const answer = ANSWERS[Number(request.url.slice(1))];
    const lines = [
      'HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade', `Sec-WebSocket-Accept: ${accept}`,
      `X-Offer: ${request.headers['sec-websocket-extensions']}`,
    ];
    if (answer !== undefined) lines.push(`Sec-WebSocket-Extensions: ${answer}`);
    socket.write([...lines, '', ''].join('\r\n'));
    t.teardown(() => socket.destroy());
  });
  await listenFree(t, server);
  return `ws://127.0.0.1:${server.address().port}/`;
}

/** The offer of a client, and its result for the answer. */
async function outcome(implementation, url, perMessageDeflate) {
  const ws = new implementation(url, perMessageDeflate === undefined ? {} : { perMessageDeflate });
  const offer = new Promise((resolve) => ws.on('upgrade', (response) => resolve(response.headers['x-offer'])));
  const end = await new Promise((resolve) => {
    ws.on('open', () => resolve({ extensions: ws.extensions, params: ws._extensions['permessage-deflate']?.params }));
    ws.on('error', (error) => resolve({ error: error.message }));
  });
  ws.terminate();
  return { offer: await offer, ...end, params: { ...end.params } };
}

for (const options of OPTIONS) {
  test(`${ANSWERS.length} answers to ${JSON.stringify(options)}`, async (t) => {
    const url = await startAnswering(t);
    for (const [number, answer] of ANSWERS.entries()) {
      const [ours, theirs] = await Promise.all([
        outcome(WebSocket, url + number, options),
        outcome(reference.WebSocket, url + number, options),
      ]);
      t.deepEqual(ours, theirs, answer);
    }
  });
}

const MODES = {
  'context takeover': [{ threshold: 0 }, {}],
  'no context takeover': [
    { serverNoContextTakeover: true, clientNoContextTakeover: true, threshold: 0 },
    { threshold: 0 },
  ],
  'small windows': [{ threshold: 0 }, { serverMaxWindowBits: 9, clientMaxWindowBits: 10 }],
  'the smallest windows': [{ threshold: 0 }, { serverMaxWindowBits: 8, clientMaxWindowBits: 8 }],
  'level 1, contexts released': [{}, { zlibDeflateOptions: { level: 1 }, releaseAfter: 1, threshold: 0 }],
};

/** A server of ws that echoes. */
async function startReference(t, options) {
  const server = new reference.WebSocketServer({ port: 0, host: '127.0.0.1', ...options });
  t.teardown(() => {
    for (const client of server.clients) client.terminate();
    server.close();
  });
  await once(server, 'listening');
  return server;
}

const SERVERS = { ws: startReference, ...WAYS };

function echo(server) {
  server.on('connection', (ws) => ws.on('message', (data, isBinary) => ws.send(data, { binary: isBinary })));
}

function open(t, server, options) {
  const client = new WebSocket(urlOf(server), { ...options, ca: cert });
  t.teardown(() => client.terminate());
  return client;
}

for (const [name, [serverOptions, clientOptions]] of Object.entries(MODES)) {
  for (const [way, start] of Object.entries(SERVERS)) {
    test(`echo, ${name}, server: ${way}`, async (t) => {
      const server = await start(t, { perMessageDeflate: serverOptions });
      echo(server);
      const client = open(t, server, { perMessageDeflate: clientOptions });
      await once(client, 'open');
      t.is(client.extensions, 'permessage-deflate');
      for (const size of [0, 1, 1024, 65_536, 300_000, 2 << 20]) {
        for (const data of [randomBytes(size >> 1).toString('hex'), randomBytes(size), 'ab'.repeat(size >> 1)]) {
          const message = once(client, 'message');
          client.send(data);
          const [received, isBinary] = await message;
          t.is(isBinary, typeof data !== 'string');
          t.true(received.equals(Buffer.from(data)), `${size}`);
        }
      }
    });
  }
}

(isReference ? test.skip : test)('options out of range throw what zlib throws, at once', (t) => {
  const connect = (perMessageDeflate) => () => new WebSocket('ws://127.0.0.1', { perMessageDeflate });
  t.throws(connect({ serverMaxWindowBits: 7 }), { instanceOf: RangeError, code: 'ERR_OUT_OF_RANGE' });
  t.throws(connect({ zlibDeflateOptions: { level: 10 } }), { instanceOf: RangeError, code: 'ERR_OUT_OF_RANGE' });
  t.throws(connect({ releaseAfter: '1' }), { instanceOf: TypeError });
});

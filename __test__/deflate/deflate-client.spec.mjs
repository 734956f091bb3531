// permessage-deflate of the client: messages with servers of ws and of this package.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createRequire } from 'node:module';

import { ALL_WAYS as WAYS, WebSocket, cert, isReference, test, urlOf } from '../helpers/index.mjs';

const reference = createRequire(import.meta.url)('ws');

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

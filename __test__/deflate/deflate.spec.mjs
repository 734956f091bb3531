// permessage-deflate against the client of ws, by every way in: negotiation, messages both ways, limits, errors.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createRequire } from 'node:module';

import { WAYS, WebSocketServer, connect, isReference, ownOnly, test } from '../helpers/index.mjs';
import { SIZES, hash, json, payloads } from '../helpers/payloads.mjs';

function echo(server) {
  server.on('connection', (ws) => ws.on('message', (data, isBinary) => ws.send(data, { binary: isBinary })));
}

async function echoed(client, data) {
  const message = once(client, 'message');
  client.send(data);
  const [received, isBinary] = await message;
  return { received, isBinary };
}

const MODES = {
  'context takeover': [{ threshold: 0 }, {}],
  'no context takeover': [
    { serverNoContextTakeover: true, clientNoContextTakeover: true, threshold: 0 },
    { threshold: 0 },
  ],
  'asked for by the client': [
    { threshold: 0 },
    { serverNoContextTakeover: true, clientNoContextTakeover: true, threshold: 0 },
  ],
  'small windows': [{ serverMaxWindowBits: 9, clientMaxWindowBits: 10, threshold: 0 }, {}],
  'the smallest windows': [
    { serverMaxWindowBits: 8, clientMaxWindowBits: 8, threshold: 0, serverNoContextTakeover: true },
    {},
  ],
  'level 1, memLevel 4': [{ threshold: 0, zlibDeflateOptions: { level: 1, memLevel: 4 } }, {}],
  'level 0, filtered': [{ threshold: 0, zlibDeflateOptions: { level: 0, strategy: 1 } }, {}],
  'contexts released at once': [{ threshold: 0, releaseAfter: 1 }, { threshold: 0 }],
};

async function openOn(start, t, serverOptions, clientOptions = true) {
  const server = await start(t, serverOptions);
  return { server, ...(await connect(t, server, { perMessageDeflate: clientOptions })) };
}

/** Z04: messages of all sizes, with all that can be negotiated. */
function echoes(way, start) {
  for (const [name, [serverOptions, clientOptions]] of Object.entries(MODES)) {
    test(`${way}: echo, ${name}: text and random bytes from 0 B to 4 MiB`, async (t) => {
      const server = await start(t, { perMessageDeflate: serverOptions });
      echo(server);
      const { client } = await connect(t, server, { perMessageDeflate: clientOptions });
      t.is(client.extensions, 'permessage-deflate');
      for (const data of payloads(SIZES)) {
        const { received, isBinary } = await echoed(client, data);
        t.is(isBinary, typeof data !== 'string');
        t.is(hash(received), hash(data), `${data.length}`);
      }
    });
  }
}

/** What was negotiated. Frames are those of differential/scenarios/deflate.mjs. */
function negotiated(way, start) {
  const open = openOn.bind(null, start);

  test(`${way}: extensions says what was negotiated`, async (t) => {
    const { ws } = await open(t, { perMessageDeflate: { serverMaxWindowBits: 10 } });
    t.is(ws.extensions, 'permessage-deflate');
    t.deepEqual(ws._extensions['permessage-deflate'].params, { server_max_window_bits: 10 });
    const plain = await open(t, { perMessageDeflate: true }, false);
    t.is(plain.ws.extensions, '');
    t.deepEqual(plain.ws._extensions, {});
  });
}

/** Long messages, and messages beside them. */
function turns(way, start) {
  const open = openOn.bind(null, start);

  test(`${way}: long messages keep the order of what is sent after them`, async (t) => {
    const { ws, client } = await open(t, { perMessageDeflate: true });
    const order = [];
    client.on('message', (data) => order.push(data.length));
    client.on('ping', () => order.push('ping'));
    const callbacks = [];
    ws.send(json(3_000_000), () => callbacks.push(1));
    ws.ping();
    ws.send('small', () => callbacks.push(2));
    ws.send(json(200_000), { compress: false }, () => callbacks.push(3));
    ws.close(1000, 'done');
    const [code, reason] = await once(client, 'close');
    t.deepEqual(order, [3_000_000, 'ping', 5, 200_000]);
    t.deepEqual([code, String(reason)], [1000, 'done']);
    t.deepEqual(callbacks, [1, 2, 3]);
  });

  test(`${way}: a long message does not hold the others up`, async (t) => {
    const server = await start(t, { perMessageDeflate: { zlibDeflateOptions: { level: 9 } } });
    echo(server);
    const slow = await connect(t, server);
    const quick = await connect(t, server);
    const arrived = [];
    const all = Promise.all([
      once(slow.client, 'message').then(() => arrived.push('slow')),
      once(quick.client, 'message').then(() => arrived.push('quick')),
    ]);
    slow.ws.send(randomBytes(16 << 20));
    quick.client.send('quick');
    await all;
    if (!isReference) t.deepEqual(arrived, ['quick', 'slow']);
    else t.pass();
  });
}

/** Messages that end a connection. */
function limits(way, start) {
  const open = openOn.bind(null, start);

  for (const [hex, code, errno, message] of [
    ['07', 'Z_DATA_ERROR', -3, 'invalid block type'],
    ['0005000000', 'Z_DATA_ERROR', -3, 'invalid stored block lengths'],
    ['f200110000', 'Z_DATA_ERROR', -3, 'invalid distance too far back'],
    ['0400feff', 'Z_DATA_ERROR', -3, 'invalid code lengths set'],
    // ws takes the missing bytes for data.
    ['f248cdc9', 'Z_BUF_ERROR', -5, 'unexpected end of file'],
  ]) {
    test(`Z06 ${way}: ${hex} ends with 1007, ${message}`, async (t) => {
      if (isReference && code === 'Z_BUF_ERROR') return t.pass();
      const { ws, client } = await open(t, { perMessageDeflate: true });
      const error = once(ws, 'error');
      const bytes = Buffer.from(hex, 'hex');
      client._socket.write(Buffer.concat([Buffer.from([0xc2, 0x80 | bytes.length, 0, 0, 0, 0]), bytes]));
      const [seen] = await error;
      t.is(seen.constructor, Error);
      t.deepEqual([seen.code, seen.errno, seen.message], [code, errno, message]);
      t.is((await once(client, 'close'))[0], 1007);
    });
  }

  test(`${way}: a handshake that JavaScript decides about is negotiated too`, async (t) => {
    const server = await start(t, { perMessageDeflate: { threshold: 0 }, verifyClient: () => true });
    const headers = once(server, 'headers');
    echo(server);
    const { ws, client } = await connect(t, server);
    t.true((await headers)[0].includes('Sec-WebSocket-Extensions: permessage-deflate'));
    t.is(ws.extensions, 'permessage-deflate');
    t.is(String((await echoed(client, json(9000))).received), json(9000));
  });
}

for (const [way, start] of Object.entries(WAYS)) for (const tests of [echoes, negotiated, turns, limits]) tests(way, start);

test('options out of range throw what zlib throws, at once', (t) => {
  if (isReference) return t.pass();
  const open = (perMessageDeflate) => () => new WebSocketServer({ port: 0, perMessageDeflate });
  for (const [options, name] of [
    [{ serverMaxWindowBits: 7 }, 'windowBits'],
    [{ clientMaxWindowBits: 16 }, 'windowBits'],
    [{ zlibDeflateOptions: { level: 10 } }, 'level'],
    [{ zlibDeflateOptions: { memLevel: 0 } }, 'memLevel'],
    [{ zlibDeflateOptions: { strategy: 5 } }, 'strategy'],
    [{ zlibDeflateOptions: { chunkSize: 1 } }, 'chunkSize'],
  ]) {
    const error = t.throws(open(options), { instanceOf: RangeError, code: 'ERR_OUT_OF_RANGE' });
    t.regex(error.message, new RegExp(`"options\\.${name}"`));
  }
  t.throws(open({ zlibDeflateOptions: { level: '6' } }), { instanceOf: TypeError, code: 'ERR_INVALID_ARG_TYPE' });
  t.throws(open({ releaseAfter: '1' }), { instanceOf: TypeError });
  t.throws(open({ releaseAfter: -1 }), { instanceOf: RangeError });
});

ownOnly('concurrencyLimit: one compression after the other', async (t) => {
  const require = createRequire(import.meta.url);
  const path = require.resolve('../../lib/deflate/permessage-deflate.js');
  // The first of a process sets the limit.
  delete require.cache[path];
  const { PerMessageDeflate } = require(path);
  const compress = () => {
    const deflate = new PerMessageDeflate({ concurrencyLimit: 1 });
    deflate.accept([{}]);
    return new Promise((resolve) => deflate.compress('hi', true, (error, data) => resolve(data.length)));
  };
  t.deepEqual(await Promise.all([compress(), compress(), compress()]), [4, 4, 4]);
});

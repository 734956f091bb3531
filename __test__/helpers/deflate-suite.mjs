// permessage-deflate against the client of ws, whichever way connections come in: negotiation,
// messages both ways, limits, errors.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';

import test from 'ava';

import { connect, nextEvents } from './clients.mjs';
import { isReference } from './impl.mjs';
import { SIZES, hash, json, payloads } from './payloads.mjs';

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

/** A connection whose frames are seen: what the server writes, and a way to send it any frame. */
async function openSeenBy(start, t, serverOptions, clientOptions = true) {
  const server = await start(t, serverOptions);
  const pair = await connect(t, server, { perMessageDeflate: clientOptions });
  const firsts = [];
  const { getInfo } = pair.client._receiver;
  pair.client._receiver.getInfo = function seen(callback) {
    if (this._bufferedBytes >= 2) firsts.push(this._buffers[0][0]);
    return getInfo.call(this, callback);
  };
  return { server, ...pair, firsts };
}

const RSV1 = 0x40;
const NO_TAKEOVER = { serverNoContextTakeover: true, clientNoContextTakeover: true };

/** Messages of all sizes, with all that can be negotiated. */
function echoes(start) {
  for (const [name, [serverOptions, clientOptions]] of Object.entries(MODES)) {
    test(`echo, ${name}: text and random bytes from 0 B to 4 MiB`, async (t) => {
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

/** The form of a frame. */
function frames(start) {
  const openSeen = openSeenBy.bind(null, start);

  test('extensions says what was negotiated', async (t) => {
    const { ws } = await openSeen(t, { perMessageDeflate: { serverMaxWindowBits: 10 } });
    t.is(ws.extensions, 'permessage-deflate');
    t.deepEqual(ws._extensions['permessage-deflate'].params, { server_max_window_bits: 10 });
    const plain = await openSeen(t, { perMessageDeflate: true }, false);
    t.is(plain.ws.extensions, '');
    t.deepEqual(plain.ws._extensions, {});
  });

  test('the threshold counts only without context takeover', async (t) => {
    for (const [options, expected] of [
      [NO_TAKEOVER, [0, RSV1]],
      [{ ...NO_TAKEOVER, threshold: 1025 }, [0, 0]],
      [{ ...NO_TAKEOVER, threshold: 0 }, [RSV1, RSV1]],
      [{}, [RSV1, RSV1]],
      [{ threshold: 5000 }, [RSV1, RSV1]],
    ]) {
      const { ws, client, firsts } = await openSeen(t, { perMessageDeflate: options });
      const messages = nextEvents(client, 'message', 2);
      ws.send('a'.repeat(1023));
      ws.send('a'.repeat(1024));
      await messages;
      t.deepEqual(
        firsts.map((first) => first & RSV1),
        expected,
        JSON.stringify(options),
      );
    }
  });

  test('compress: false, and what counts as it', async (t) => {
    const { ws, client, firsts } = await openSeen(t, { perMessageDeflate: true });
    const messages = nextEvents(client, 'message', 6);
    for (const options of [{ compress: false }, { compress: undefined }, { compress: true }, {}, undefined, { fin: true }]) {
      ws.send('abc', options);
    }
    t.deepEqual((await messages).map(String), Array(6).fill('abc,false'));
    t.deepEqual(
      firsts.map((first) => first & RSV1),
      [0, 0, RSV1, RSV1, RSV1, RSV1],
    );
  });

  test('fragments: the first one decides, pings come in between', async (t) => {
    const { ws, client, firsts } = await openSeen(t, { perMessageDeflate: NO_TAKEOVER });
    const messages = nextEvents(client, 'message', 2);
    const ping = once(client, 'ping');
    const text = json(2000);
    ws.send(text, { fin: false });
    ws.ping('p');
    ws.send('', { fin: false });
    ws.send('b', { fin: true, compress: false });
    ws.send('c', { fin: false });
    ws.send(text, { fin: true });
    t.deepEqual((await messages).map(String), [`${text}b,false`, `c${text},false`]);
    t.is(String((await ping)[0]), 'p');
    t.deepEqual(firsts, [0x41, 0x89, 0x00, 0x80, 0x01, 0x80]);
  });

  test('fragments of the client', async (t) => {
    const { ws, client } = await openSeen(t, { perMessageDeflate: true }, { threshold: 0 });
    const message = once(ws, 'message');
    const pong = once(client, 'pong');
    client.send(json(3000), { fin: false });
    client.ping();
    client.send(randomBytes(0), { fin: false });
    client.send('end', { fin: true });
    t.is(String((await message)[0]), `${json(3000)}end`);
    await pong;
  });
}

/** Long messages and what is sent beside them. */
function turns(start) {
  const openSeen = openSeenBy.bind(null, start);

  test('long messages keep the order of what is sent behind them', async (t) => {
    const { ws, client } = await openSeen(t, { perMessageDeflate: true });
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

  test('z04: 64 MiB both ways, in fragments', async (t) => {
    const server = await start(t, { perMessageDeflate: { threshold: 0 } });
    echo(server);
    const { client } = await connect(t, server);
    const part = Buffer.from(json(4 << 20));
    const received = once(client, 'message');
    for (let n = 15; n >= 0; n--) client.send(part, { fin: n === 0 });
    const [data] = await received;
    t.is(data.length, 16 * part.length);
    t.is(hash(data), hash(Buffer.concat(Array(16).fill(part))));
  });

  test('a long message does not hold the others up', async (t) => {
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

  test('bufferedAmount comes back to nothing', async (t) => {
    const { ws, client } = await openSeen(t, { perMessageDeflate: true });
    const message = once(client, 'message');
    await new Promise((resolve) => ws.send(json(500_000), resolve));
    await message;
    t.is(ws.bufferedAmount, 0);
  });
}

/** Messages that end a connection. */
function limits(start) {
  const openSeen = openSeenBy.bind(null, start);

  for (const [name, maxPayload, size, message] of [
    ['z02: a bomb', 1 << 20, 100 << 20, 'Max payload size exceeded'],
    ['z02: one byte too many', 9999, 10_000, 'Max payload size exceeded'],
  ]) {
    test(`${name} ends with 1009`, async (t) => {
      const { ws, client } = await openSeen(t, { perMessageDeflate: true, maxPayload });
      const error = once(ws, 'error');
      client.send(Buffer.alloc(size));
      const [seen] = await error;
      t.true(seen instanceof RangeError);
      t.is(seen.code, 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH');
      t.is(seen.message, message);
      t.is((await once(client, 'close'))[0], 1009);
    });
  }

  for (const [hex, code, errno, message] of [
    ['07', 'Z_DATA_ERROR', -3, 'invalid block type'],
    ['0005000000', 'Z_DATA_ERROR', -3, 'invalid stored block lengths'],
    ['f200110000', 'Z_DATA_ERROR', -3, 'invalid distance too far back'],
    ['0400feff', 'Z_DATA_ERROR', -3, 'invalid code lengths set'],
    // ws takes the missing bytes for data.
    ['f248cdc9', 'Z_BUF_ERROR', -5, 'unexpected end of file'],
  ]) {
    test(`z06: ${hex} ends with 1007, ${message}`, async (t) => {
      if (isReference && code === 'Z_BUF_ERROR') return t.pass();
      const { ws, client } = await openSeen(t, { perMessageDeflate: true });
      const error = once(ws, 'error');
      const bytes = Buffer.from(hex, 'hex');
      client._socket.write(Buffer.concat([Buffer.from([0xc2, 0x80 | bytes.length, 0, 0, 0, 0]), bytes]));
      const [seen] = await error;
      t.is(seen.constructor, Error);
      t.deepEqual([seen.code, seen.errno, seen.message], [code, errno, message]);
      t.is((await once(client, 'close'))[0], 1007);
    });
  }

  test('a handshake that JavaScript decides about is negotiated too', async (t) => {
    const server = await start(t, { perMessageDeflate: { threshold: 0 }, verifyClient: () => true });
    const headers = once(server, 'headers');
    echo(server);
    const { ws, client } = await connect(t, server);
    t.true((await headers)[0].includes('Sec-WebSocket-Extensions: permessage-deflate'));
    t.is(ws.extensions, 'permessage-deflate');
    t.is(String((await echoed(client, json(9000))).received), json(9000));
  });
}

/** All of them, for servers that `start(t, options)` starts. */
export function deflateTests(start) {
  for (const tests of [echoes, frames, turns, limits]) tests(start);
}

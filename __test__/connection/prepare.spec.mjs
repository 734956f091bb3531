// Messages that are made ready once and sent to many.
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { prepare } from '../../lib/index.mjs';
import { connect, connectMany, nextEvents, openPair, startServer, test } from '../helpers/index.mjs';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc');

const require = createRequire(import.meta.url);
const { PreparedMessage } = require('../../lib/connection/prepared.js');
const { state } = require('../../lib/reactor/link.js');

const ALONE = { serverNoContextTakeover: true, clientNoContextTakeover: true, threshold: 0 };
const MODES = {
  'without compression': [false, false],
  'each message by itself': [ALONE, true],
  'context takeover': [{ threshold: 0 }, true],
  'a client that does not offer it': [ALONE, false],
  'small windows': [{ ...ALONE, serverMaxWindowBits: 9 }, true],
};
const PAYLOADS = [
  '',
  'short',
  'ä'.repeat(60_000),
  'x'.repeat(300_000),
  Buffer.alloc(0),
  Buffer.from([1, 2, 3]),
  Buffer.from(Array.from({ length: 5000 }, (_, n) => (n * n) >> 4)),
  new Float64Array(1000).fill(Math.PI),
];

for (const [name, [serverOptions, clientOptions]] of Object.entries(MODES)) {
  // R03.
  test(`${name}: every connection gets it, in its place`, async (t) => {
    const server = await startServer(t, { perMessageDeflate: serverOptions });
    const pairs = await connectMany(t, server, 3, { perMessageDeflate: clientOptions });
    const received = pairs.map(({ client }) => nextEvents(client, 'message', 3 * PAYLOADS.length));
    for (const data of PAYLOADS) {
      const message = prepare(data);
      for (const { ws } of pairs) {
        ws.send('before');
        ws.send(message);
        ws.send('behind', { compress: false });
      }
    }
    for (const events of await Promise.all(received)) {
      for (const [n, data] of PAYLOADS.entries()) {
        const [before, [message, isBinary], behind] = events.slice(3 * n, 3 * n + 3);
        t.is(before[0].toString(), 'before');
        t.is(isBinary, typeof data !== 'string');
        const bytes = typeof data === 'string' ? data : Buffer.from(data.buffer, data.byteOffset, data.byteLength);
        t.true(message.equals(Buffer.from(bytes)), `payload ${n}`);
        t.is(behind[0].toString(), 'behind');
      }
    }
  });
}

test('bytes are copied when it is prepared; options are those of prepare', async (t) => {
  const { ws, client } = await openPair(t);
  const bytes = Buffer.from('as it was');
  const message = prepare(bytes, { binary: false });
  t.is(message.length, 9);
  bytes.fill(0);
  ws.send(message, { binary: true });
  const [data, isBinary] = await once(client, 'message');
  t.is(data.toString(), 'as it was');
  t.false(isBinary);
});

test('callbacks, bufferedAmount, and a connection that is closed', async (t) => {
  const { ws, client } = await openPair(t);
  const message = prepare('x'.repeat(1000));
  const sent = new Promise((resolve) => ws.send(message, resolve));
  t.is(ws.bufferedAmount, 1004);
  t.falsy(await sent);
  t.is(ws.bufferedAmount, 0);
  client.close();
  await once(ws, 'close');
  const error = await new Promise((resolve) => ws.send(message, resolve));
  t.regex(error.message, /not open/);
  t.is(ws.bufferedAmount, 1000);
});

test('behind a Blob it waits', async (t) => {
  const { ws, client } = await openPair(t);
  const received = nextEvents(client, 'message', 2);
  ws.send(new Blob(['blob']));
  ws.send(prepare('behind'));
  t.deepEqual((await received).map(([data]) => data.toString()), ['blob', 'behind']);
});

test('what cannot be prepared', (t) => {
  t.throws(() => prepare({}), { instanceOf: TypeError, code: 'ERR_INVALID_ARG_TYPE' });
  t.throws(() => prepare(new Blob(['x'])), { instanceOf: TypeError });
  t.throws(() => prepare('x', { fin: false }), { instanceOf: TypeError });
});

// R03.
test('one that is not sent any more is forgotten, those on their way are not', async (t) => {
  const server = await startServer(t);
  const clients = [];
  for (let n = 0; n < 5; n++) clients.push((await connect(t, server)).client);
  const received = clients.map((client) => nextEvents(client, 'message', 200));
  for (let n = 0; n < 200; n++) {
    const message = prepare(`${n} `.repeat(3000));
    for (const ws of server.clients) ws.send(message);
    if (n % 20 === 0) {
      gc();
      await new Promise(setImmediate);
    }
  }
  for (const events of await Promise.all(received)) {
    t.true(events.every(([data], n) => data.toString() === `${n} `.repeat(3000)));
  }
});

test('numbers are used again, and those of messages that may be sent again are not', async (t) => {
  const { ws, client } = await openPair(t);
  const kept = Array.from({ length: 100 }, (_, n) => prepare(`kept ${n}`));
  for (const message of kept) ws.send(message);
  await nextEvents(client, 'message', 100);
  const numbers = new Set();
  // A message is collected some time after its last use.
  for (let n = 0; n < 10_000 && numbers.size === n; n++) {
    numbers.add(PreparedMessage.numberOf(prepare(`new ${n}`)));
    if (n % 100 !== 0) continue;
    gc();
    await new Promise(setImmediate);
  }
  t.true(numbers.size < 10_000, 'each has had a number of its own');
  const received = nextEvents(client, 'message', 100);
  for (const message of kept) ws.send(message);
  t.deepEqual((await received).map(([data]) => data.toString()), kept.map((_, n) => `kept ${n}`));
});

test('many that are collected at once are freed some in each turn', async (t) => {
  await startServer(t);
  const { native } = state;
  const freed = [];
  native.forget = (numbers) => {
    freed.push(numbers.length);
    Object.getPrototypeOf(native).forget.call(native, numbers);
  };
  t.teardown(() => delete native.forget);
  for (let n = 0; n < 10_000; n++) PreparedMessage.numberOf(prepare('short'));
  const sum = () => freed.reduce((all, count) => all + count, 0);
  for (let n = 0; n < 1000 && sum() < 9000; n++) {
    gc();
    await new Promise(setImmediate);
  }
  t.true(sum() >= 9000, `${freed}`);
  t.true(Math.max(...freed) <= 4096 && freed.length < 1000, `${freed}`);
});

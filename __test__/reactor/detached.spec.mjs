// Handlers that detach a message's memory, as byte streams did: the others come all the same.
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { ReadableStream } from 'node:stream/web';

import { WAYS, frame, isReference, openRaw, ownSerial, urlOf, visitor } from '../helpers/index.mjs';

/** Bytes of the memory that is lent for batches. */
const { LENT_BYTES } = isReference ? {} : createRequire(import.meta.url)('../../lib/base/layout.js');

/** Gives the memory of `data` away, where Node lets it. */
function detach(data) {
  const start = (controller) => controller.enqueue(data);
  try {
    return new ReadableStream({ type: 'bytes', start });
  } catch {
    return null;
  }
}

/** Binary messages of these lengths, the first full of 1, the second full of 2 and so on. */
function messagesOf(lengths) {
  const parts = lengths.flatMap((length, i) => {
    const payload = Buffer.alloc(length, i + 1);
    if (length < 126) return [frame(2, payload)];
    return [Buffer.from([0x82, 0xfe, length >> 8, length & 0xff, 0, 0, 0, 0]), payload];
  });
  return Buffer.concat(parts);
}

/** Sends such messages, read at once; `onFirst` gets the first. Resolves with the rest. */
async function others(t, { ws, raw }, lengths, onFirst) {
  const messages = [];
  const closed = once(ws, 'close').then(([code]) => code);
  const all = new Promise((resolve) => {
    ws.on('message', (data) => {
      if (messages.push(data) === 1) onFirst(data);
      if (messages.length === lengths.length) resolve('all');
    });
  });
  await raw.send(messagesOf(lengths));
  const end = await Promise.race([all, closed]);
  return { end, wrong: messages.slice(1).filter((data, i) => !data.equals(Buffer.alloc(lengths[i + 1], i + 2))).length };
}

// Before any other test of this file: the first batch of the process is one without bytes.
ownSerial('a first batch without bytes is not taken for a detached one: large ones are still handed over', async (t) => {
  const server = await WAYS.server(t);
  const opened = once(server, 'connection').then(([ws]) => {
    // Nothing has been read: the first record reports that this message has left.
    return new Promise((resolve) => ws.send('first', () => resolve(ws)));
  });
  const client = visitor(t, urlOf(server));
  const [ws] = await Promise.all([opened, once(client, 'open')]);
  let isHanded = false;
  let received = 0;
  ws.on('message', (data) => {
    received++;
    isHanded ||= data.length === 4000 && data.buffer.byteLength === LENT_BYTES;
    ws.send('', () => {});
  });
  // The system decides whether the messages come in a large batch; at some time they do.
  for (let round = 0; round < 300 && !isHanded; round++) {
    const until = received + 64;
    for (let i = 0; i < 64; i++) client.send(Buffer.alloc(4000));
    while (received < until) await once(ws, 'message');
  }
  t.true(isHanded);
});

ownSerial('a byte stream takes a small message', async (t) => {
  t.deepEqual(await others(t, await openRaw(t), [5, 6, 7, 0, 8], detach), { end: 'all', wrong: 0 });
});

// J11.
ownSerial('a large batch is whole, or its connection ends; from the second on it is whole', async (t) => {
  for (let i = 0; i < 3; i++) {
    const { end, wrong } = await others(t, await openRaw(t), [10_000, 9_000, 9_500, 9_900, 9_800, 9_700, 9_600, 9_500], detach);
    t.is(wrong, 0);
    if (i === 0) t.true(end === 'all' || end === 1006);
    else t.is(end, 'all');
  }
});

// J11.
ownSerial('transfer() is refused, or not there', async (t) => {
  const { ws, raw } = await openRaw(t);
  const message = once(ws, 'message');
  await raw.send(frame(2, 'abc'));
  const [data] = await message;
  t.throws(() => data.buffer.transfer(), { instanceOf: TypeError });
  t.is(String(data), 'abc');
});

// A handler gives a message of a large batch to a byte stream, which detaches the memory of the batch before Node 24. A
// report of the reactor in the same batch was read from there, which ended the process.
import { ReadableStream } from 'node:stream/web';

import { openRaw, ownSerial } from '../helpers/index.mjs';

/** While the reactors go on. */
const block = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

const MESSAGES = Buffer.concat([65_000, 1000].map((length) => {
  return Buffer.concat([Buffer.from([0x82, 0xfe, length >> 8, length & 0xff, 0, 0, 0, 0]), Buffer.alloc(length)]);
}));

ownSerial('a large batch that has a report of the reactor too: the report comes', async (t) => {
  const { server, ws, raw } = await openRaw(t);
  ws.subscribe('topic');
  await server.publish('topic', 'first', { receipt: true });
  let count = 0;
  ws.on('message', (data) => ++count === 3 && new ReadableStream({ type: 'bytes', start: (controller) => controller.enqueue(data) }));
  // Two batches; the receipt is added to the second.
  for (let batch = 0; batch < 2; batch++) {
    raw.send(MESSAGES);
    block(200);
  }
  const receipt = server.publish('topic', 'text', { receipt: true });
  // It leaves in a microtask.
  await null;
  block(100);
  t.deepEqual(await receipt, { position: null });
});

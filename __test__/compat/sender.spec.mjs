// Sender: frames made once and written by hand.
import { PassThrough } from 'node:stream';

import { implementation, isReference, test } from '../helpers/index.mjs';

const { Sender } = implementation;

test('frame: keys are random', (t) => {
  const keys = Array.from({ length: 3000 }, () => Sender.frame('', { opcode: 1, fin: true, mask: true })[0].toString('hex'));
  t.true(new Set(keys).size > 2990);
});

// In ws the last one is not called.
(isReference ? test.skip : test)('a Blob that cannot be read fails what waits for it, and what comes later', async (t) => {
  const sender = new Sender(new PassThrough());
  const failed = new Error('unreadable');
  const log = [];
  const blob = Object.assign(new Blob(['a']), { arrayBuffer: () => Promise.reject(failed) });
  const isOver = new Promise((resolve) => {
    sender.onerror = resolve;
  });
  const options = { binary: true, fin: true };
  sender.send(blob, options, (error) => log.push(error));
  sender.send('b', options, (error) => log.push(error));
  t.is(await isOver, failed);
  await new Promise((resolve) => {
    sender.send('c', options, (error) => resolve(log.push(error.code)));
  });
  t.deepEqual(log, [failed, failed, 'ERR_STREAM_DESTROYED']);
});

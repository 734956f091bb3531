// Sender: frames made once and written by hand.
import { Writable } from 'node:stream';

import { implementation, isReference, test } from '../helpers/index.mjs';

const { PerMessageDeflate, Sender } = implementation;

const hexOf = (list) => Buffer.concat(list.map((part) => Buffer.from(part))).toString('hex');

function sink() {
  const written = [];
  const socket = new Writable({
    write(chunk, _encoding, callback) {
      written.push(chunk);
      callback();
    },
  });
  return { socket, hex: () => hexOf(written) };
}

test('frame: keys are random', (t) => {
  const keys = Array.from({ length: 3000 }, () => hexOf(Sender.frame('', { opcode: 1, fin: true, mask: true })));
  t.true(new Set(keys).size > 2990);
});

test('an instance compresses, and what follows waits', async (t) => {
  const { socket, hex } = sink();
  const deflate = new PerMessageDeflate({ threshold: 0 });
  deflate.accept([{}]);
  const sender = new Sender(socket, { 'permessage-deflate': deflate });
  sender.send('hi', { compress: true, fin: true });
  await new Promise((resolve) => sender.ping('', false, resolve));
  t.is(hex(), 'c104cac80400' + '8900');
});

// In ws the last one is not called.
(isReference ? test.skip : test)('a Blob that cannot be read fails what waits for it, and what comes later', async (t) => {
  const sender = new Sender(sink().socket);
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

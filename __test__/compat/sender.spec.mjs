// Sender: frames made once and written by hand.
import { PassThrough } from 'node:stream';

import { connect } from '../helpers/clients.mjs';
import { implementation, ownOnly, ownSerial, startServer, test } from '../helpers/index.mjs';

const { PerMessageDeflate, Sender } = implementation;

test('frame: keys are random', (t) => {
  const keys = Array.from({ length: 3000 }, () => Sender.frame('', { opcode: 1, fin: true, mask: true })[0].toString('hex'));
  t.true(new Set(keys).size > 2990);
});

// In ws the last one is not called.
ownOnly('a Blob that cannot be read fails what waits for it, and what comes later', async (t) => {
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

ownSerial('sends that wait do not move each time that one leaves', async (t) => {
  const SENDS = 10_000;
  const { shift, splice } = Array.prototype;
  let moved = 0;
  Array.prototype.shift = function () {
    moved += this.length;
    return shift.call(this);
  };
  Array.prototype.splice = function (start, ...more) {
    moved += this.length - start;
    return splice.call(this, start, ...more);
  };
  t.teardown(() => Object.assign(Array.prototype, { shift, splice }));
  const deflate = new PerMessageDeflate({ threshold: 0 });
  deflate.accept([{}]);
  const order = [];
  await new Promise((resolve) => {
    const options = { binary: true, compress: true, fin: true };
    const senders = [new Sender(new PassThrough().resume(), { 'permessage-deflate': deflate }), new Sender(new PassThrough().resume())];
    for (let n = 0; n < SENDS; n++) for (const sender of senders) sender.send(n === 0 ? new Blob(['a']) : 'a', { ...options, compress: n === 0 }, () => order.push(n) === 2 * SENDS && resolve());
  });
  const { ws, client } = await connect(t, await startServer(t));
  client.pause();
  while (ws.send(Buffer.alloc(65_536)));
  const sent = new Promise((resolve) => {
    for (let n = 1; n <= SENDS; n++) ws.send('a', n < SENDS ? () => order.push(n) : resolve);
  });
  client.resume();
  await sent;
  t.is(order.length, 3 * SENDS - 1);
  t.true(moved < 100 * SENDS, `${moved}`);
});

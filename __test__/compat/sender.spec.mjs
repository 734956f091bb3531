// Sender: frames made once and written by hand.
import { once } from 'node:events';
import { Writable } from 'node:stream';

import test from 'ava';

import { openPair } from '../helpers/clients.mjs';
import { implementation, isReference } from '../helpers/impl.mjs';

const { PerMessageDeflate, Sender } = implementation;

/** Makes every key 01020304. */
const generateMask = (key) => key.set([1, 2, 3, 4]);

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

for (const [title, data, options, expected] of [
  ['text', 'hi', { opcode: 1, fin: true }, '81026869'],
  ['text that is masked', 'hi', { opcode: 1, fin: true, mask: true, generateMask }, '818201020304696b'],
  ['a fragment', Buffer.from('a'), { opcode: 2 }, '020161'],
  ['a compressed frame', Buffer.from('a'), { opcode: 2, fin: true, rsv1: true }, 'c20161'],
  ['nothing', Buffer.alloc(0), { opcode: 9, fin: true }, '8900'],
  ['nothing, masked', Buffer.alloc(0), { opcode: 9, fin: true, mask: true, generateMask }, '898001020304'],
  ['a key of zeros', Buffer.from('a'), { opcode: 1, fin: true, mask: true, generateMask: (key) => key.fill(0) }, '81810000000061'],
]) {
  test(`frame: ${title}`, (t) => {
    t.is(hexOf(Sender.frame(data, options)), expected);
  });
}

for (const [length, header] of [[125, '827d'], [126, '827e007e'], [65_535, '827effff'], [65_536, '827f0000000000010000']]) {
  test(`frame: ${length} bytes`, (t) => {
    const data = Buffer.alloc(length, 1);
    const [head, body] = Sender.frame(data, { opcode: 2, fin: true });
    t.is(head.toString('hex'), header);
    t.is(body, data);
  });
}

test('frame: data is masked in place unless it is read only', (t) => {
  const data = Buffer.from('abc');
  t.is(Sender.frame(data, { opcode: 2, fin: true, mask: true, readOnly: true, generateMask }).length, 1);
  t.is(data.toString(), 'abc');
  Sender.frame(data, { opcode: 2, fin: true, mask: true, generateMask });
  t.is(data.toString('hex'), '606060');
});

test('frame: keys are random', (t) => {
  const keys = Array.from({ length: 3000 }, () => hexOf(Sender.frame('', { opcode: 1, fin: true, mask: true })));
  t.true(new Set(keys).size > 2990);
});

test('an instance sends messages, fragments and control frames in order', async (t) => {
  const { socket, hex } = sink();
  const sender = new Sender(socket);
  sender.send('a', { fin: false });
  sender.ping(new Uint8Array([1]), false);
  sender.send(new Blob(['b']), { fin: true });
  sender.pong('p', false);
  t.true(sender._bufferedBytes > 0);
  await new Promise((resolve) => {
    sender.close(1000, 'x', false, resolve);
  });
  t.is(sender._bufferedBytes, 0);
  t.is(hex(), '010161' + '890101' + '800162' + '8a0170' + '880303e878');
});

test('an instance checks what it is given', (t) => {
  const sender = new Sender(sink().socket);
  const tooLong = { instanceOf: RangeError, message: 'The data size must not be greater than 125 bytes' };
  t.throws(() => sender.ping(Buffer.alloc(126)), tooLong);
  t.throws(() => sender.pong('x'.repeat(126)), tooLong);
  t.throws(() => sender.close(1004), { instanceOf: TypeError });
  t.throws(() => sender.close(1000, 'x'.repeat(124)), { instanceOf: RangeError });
});

test('an instance compresses, and what follows waits', async (t) => {
  const { socket, hex } = sink();
  const deflate = new PerMessageDeflate({ threshold: 0 });
  deflate.accept([{}]);
  const sender = new Sender(socket, { 'permessage-deflate': deflate });
  sender.send('hi', { compress: true, fin: true });
  await new Promise((resolve) => {
    sender.ping('', false, resolve);
  });
  t.is(hex(), 'c104cac80400' + '8900');
});

test('a frame made once goes to every connection', async (t) => {
  const { ws, client } = await openPair(t);
  const frame = Sender.frame(Buffer.from('to all'), { opcode: 1, fin: true, readOnly: true });
  const messages = [once(client, 'message')];
  ws.send('before');
  t.deepEqual(await messages[0], [Buffer.from('before'), false]);
  const message = once(client, 'message');
  await new Promise((resolve) => {
    ws._sender.sendFrame(frame, resolve);
  });
  t.deepEqual(await message, [Buffer.from('to all'), false]);
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

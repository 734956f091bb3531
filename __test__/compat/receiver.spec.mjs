// Receiver, and the header and compression classes that ws exports beside it.
import { once } from 'node:events';

import test from 'ava';

import { implementation } from '../helpers/impl.mjs';

const { PerMessageDeflate, Receiver, extension, subprotocol } = implementation;

const hex = (text) => Buffer.from(text.replaceAll(' ', ''), 'hex');

function receive(chunks, options) {
  const receiver = new Receiver(options);
  const seen = [];
  receiver.on('message', (data, isBinary) => seen.push([isBinary ? 'binary' : 'text', data.toString()]));
  for (const event of ['ping', 'pong']) receiver.on(event, (data) => seen.push([event, data.toString()]));
  receiver.on('conclude', (code, reason) => seen.push(['conclude', code, reason.toString()]));
  receiver.on('error', (error) => seen.push(['error', error.constructor.name, error.code, error.message]));
  for (const chunk of chunks) receiver.write(hex(chunk));
  return new Promise((resolve) => {
    receiver.on('close', () => resolve(seen));
    receiver.end();
  });
}

test('messages, control frames and the end', async (t) => {
  t.deepEqual(await receive(['8102 6869 0201 61', '8901 70 8001', '62 8a00 8803 03e8 78 8101 61']), [
    ['text', 'hi'],
    ['ping', 'p'],
    ['binary', 'ab'],
    ['pong', ''],
    ['conclude', 1000, 'x'],
  ]);
});

test('of a client: unmasked in place', async (t) => {
  t.deepEqual(await receive(['8182 01020304 696b'], { isServer: true }), [['text', 'hi']]);
});

test('_totalPayloadLength is what the frames of a message under way have declared', (t) => {
  const receiver = new Receiver();
  const lengths = [receiver._totalPayloadLength];
  receiver.on('message', () => lengths.push(receiver._totalPayloadLength));
  receiver.on('ping', () => lengths.push(receiver._totalPayloadLength));
  for (const chunk of ['8105 48656c6c6f', '0202 4865', '8900', '0003 6c', '6c6f', '8000']) {
    receiver.write(hex(chunk));
    lengths.push(receiver._totalPayloadLength);
  }
  t.deepEqual(lengths, [0, 0, 0, 2, 2, 2, 5, 5, 0, 0]);
});

test('errors', async (t) => {
  const range = (code, message) => [['error', 'RangeError', code, message]];
  t.deepEqual(await receive(['9100']), range('WS_ERR_UNEXPECTED_RSV_2_3', 'Invalid WebSocket frame: RSV2 and RSV3 must be clear'));
  t.deepEqual(await receive(['8100'], { isServer: true }), range('WS_ERR_EXPECTED_MASK', 'Invalid WebSocket frame: MASK must be set'));
  t.deepEqual(await receive(['8102'], { maxPayload: 1 }), range('WS_ERR_UNSUPPORTED_MESSAGE_LENGTH', 'Max payload size exceeded'));
  t.deepEqual(await receive(['8101 ff']), [
    ['error', 'Error', 'WS_ERR_INVALID_UTF8', 'Invalid WebSocket frame: invalid UTF-8 sequence'],
  ]);
});

test('allowSynchronousEvents: false emits one event in a turn', async (t) => {
  const receiver = new Receiver({ allowSynchronousEvents: false });
  let count = 0;
  const turns = [];
  receiver.on('message', () => {
    count++;
    setImmediate(() => turns.push(count));
  });
  receiver.write(hex('8100 8100 8100'));
  receiver.end();
  await once(receiver, 'finish');
  await new Promise(setImmediate);
  t.is(count, 3);
  t.true(turns[0] < 3);
});

test('binaryType', async (t) => {
  const receiver = new Receiver({ binaryType: 'arraybuffer' });
  const message = once(receiver, 'message');
  receiver.write(hex('8202 0102'));
  t.deepEqual(await message, [new Uint8Array([1, 2]).buffer, true]);
});

test('extension.parse', (t) => {
  const plain = (value) => JSON.parse(JSON.stringify(value));
  t.deepEqual(plain(extension.parse('a, b; c ; d=1; d="2\\3" ,a')), { a: [{}, {}], b: [{ c: [true], d: ['1', '23'] }] });
  for (const [header, message] of [
    ['', 'Unexpected end of input'],
    ['a;', 'Unexpected end of input'],
    ['a ', 'Unexpected end of input'],
    ['a; b="c', 'Unexpected end of input'],
    [' a', 'Unexpected character at index 0'],
    ['a b', 'Unexpected character at index 2'],
    ['a;b=,', 'Unexpected character at index 4'],
    ['a;b="c d"', 'Unexpected character at index 6'],
  ]) {
    t.throws(() => extension.parse(header), { instanceOf: SyntaxError, message }, header);
  }
});

test('extension.format', (t) => {
  t.is(extension.format({ a: {}, b: [{ c: true, d: ['1', '2'] }, { e: [true] }] }), 'a, b; c; d=1; d=2, b; e');
});

test('subprotocol.parse', (t) => {
  t.deepEqual([...subprotocol.parse('a , b,c')], ['a', 'b', 'c']);
  t.throws(() => subprotocol.parse('a,'), { instanceOf: SyntaxError, message: 'Unexpected end of input' });
  t.throws(() => subprotocol.parse('a b'), { instanceOf: SyntaxError, message: 'Unexpected character at index 2' });
  t.throws(() => subprotocol.parse('a,a'), { instanceOf: SyntaxError, message: 'The "a" subprotocol is duplicated' });
});

test('PerMessageDeflate negotiates', (t) => {
  t.is(PerMessageDeflate.extensionName, 'permessage-deflate');
  t.deepEqual(new PerMessageDeflate().offer(), { client_max_window_bits: true });
  const offers = () => extension.parse('x; server_max_window_bits=8; client_max_window_bits, x').x;
  const server = (options) => new PerMessageDeflate({ ...options, isServer: true });
  t.deepEqual({ ...server().accept(offers()) }, { server_max_window_bits: 8 });
  t.deepEqual({ ...server({ serverMaxWindowBits: 9 }).accept(offers()) }, { server_max_window_bits: 9 });
  t.throws(() => server({ clientMaxWindowBits: 10 }).accept([{}]), { message: /None of the extension offers/ });
  t.throws(() => server().accept([{ foo: [true] }]), { message: 'Unknown parameter "foo"' });
  const client = new PerMessageDeflate({ clientNoContextTakeover: false });
  t.throws(() => client.accept([{ client_no_context_takeover: [true] }]), { message: /Unexpected parameter/ });
});

test('PerMessageDeflate compresses and decompresses', async (t) => {
  const deflate = new PerMessageDeflate({ maxPayload: 1000 });
  deflate.accept([{}]);
  const call = (method, ...args) =>
    new Promise((resolve, reject) => {
      deflate[method](...args, (error, data) => (error ? reject(error) : resolve(data)));
    });
  t.is((await call('compress', 'hi', true)).toString('hex'), 'cac80400');
  t.is((await call('decompress', hex('cac80400'), true)).toString(), 'hi');
  const bomb = await call('compress', Buffer.alloc(2000), true);
  await t.throwsAsync(call('decompress', bomb, true), { code: 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH' });
  const closed = call('compress', 'x', true);
  deflate.cleanup();
  await t.throwsAsync(closed, { message: /was closed while data was being processed/ });
});

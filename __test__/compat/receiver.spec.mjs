// Receiver, and the header and compression classes that ws exports beside it.
import { implementation, test } from '../helpers/index.mjs';

const { PerMessageDeflate, Receiver } = implementation;

const hex = (text) => Buffer.from(text.replaceAll(' ', ''), 'hex');

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

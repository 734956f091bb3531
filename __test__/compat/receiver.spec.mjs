// Private fields of a Receiver.
import { implementation, test } from '../helpers/index.mjs';

const { Receiver } = implementation;

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

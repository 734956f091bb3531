// Sender and Receiver by themselves.
import { Duplex } from 'node:stream';

import { frame } from '../../helpers/clients.mjs';
import { section } from '../scenario.mjs';
import { outcome } from '../show.mjs';

const s = section('tools');
export default s;

s.once('Sender.frame', (c) => {
  const { Sender } = c.impl;
  const generateMask = (key) => key.set([1, 2, 3, 4]);
  for (const length of [0, 1, 125, 126, 65535, 65536]) {
    for (const mask of [false, true]) {
      const data = Buffer.alloc(length, 'x');
      const list = Sender.frame(data, { fin: true, rsv1: false, opcode: 2, mask, readOnly: true, generateMask });
      c.log('frame', length, mask, list, list[1] === data, data);
    }
  }
  c.log('frame', Sender.frame(Buffer.from('abc'), { fin: false, rsv1: true, opcode: 1 }));
  const writable = Buffer.from('abcdef');
  c.log('frame', Sender.frame(writable, { fin: true, opcode: 1, mask: true, readOnly: false, generateMask }), writable);
  c.log('frame', Sender.frame('text ✓', { fin: true, opcode: 1, mask: true, generateMask }));
  c.log('frame', Sender.frame('text', { fin: true, opcode: 9, mask: false }));
  const maskBuffer = Buffer.from([9, 9, 9, 9]);
  c.log('frame', Sender.frame(Buffer.from('abc'), { fin: true, opcode: 1, mask: true, readOnly: true, maskBuffer, generateMask }), maskBuffer);
});

s.once('a mask of zeros', (c) => {
  const data = Buffer.from('abc');
  const list = c.impl.Sender.frame(data, { fin: true, opcode: 1, mask: true, readOnly: true, generateMask: (key) => key.fill(0) });
  c.log('frame', list, list.length);
});

/** A socket that logs all writes. */
function sink(c) {
  return new Duplex({
    read() {},
    write(chunk, encoding, callback) {
      c.log('socket', chunk);
      callback();
    },
  });
}

s.once('a Sender of a server', async (c) => {
  const sender = new c.impl.Sender(sink(c));
  c.log('sender', sender._bufferedBytes, typeof sender.onerror);
  sender.send('text', { binary: false, compress: false, fin: true, mask: false }, (...args) => c.log('callbacks', 'text', ...args));
  sender.send(Buffer.from('bytes'), { binary: true, fin: false, mask: false });
  sender.ping('ping', false);
  sender.send([1, 2], { binary: true, fin: true, mask: false });
  sender.pong(Buffer.from('pong'), false, (...args) => c.log('callbacks', 'pong', ...args));
  sender.send(new Blob(['blob']), { binary: true, fin: true, mask: false }, (...args) => c.log('callbacks', 'blob', ...args));
  c.log('sender', sender._bufferedBytes);
  await new Promise((resolve) => sender.close(1000, 'reason', false, resolve));
});

s.once('a Sender that compresses: what follows waits', async (c) => {
  const deflate = new c.impl.PerMessageDeflate({ threshold: 0 });
  deflate.accept([{}]);
  const sender = new c.impl.Sender(sink(c), { 'permessage-deflate': deflate });
  sender.send('hi', { compress: true, fin: true });
  await new Promise((resolve) => sender.ping('', false, resolve));
});

s.once('what a Sender refuses', (c) => {
  const sender = new c.impl.Sender(sink(c));
  for (const args of [[7], ['1000'], [1000, 'x'.repeat(124)], [null]]) c.log('sender', outcome(() => sender.close(...args)));
  for (const data of ['x'.repeat(126), Buffer.alloc(126), {}, true]) {
    c.log('sender', outcome(() => sender.ping(data)), outcome(() => sender.pong(data)));
  }
  for (const data of [{}, true, 7]) c.log('sender', outcome(() => sender.send(data, { binary: true, fin: true })));
});

/** A Receiver that gets these chunks, with its events. */
async function receive(c, options, ...chunks) {
  const receiver = new c.impl.Receiver(options);
  for (const event of ['message', 'ping', 'pong', 'conclude', 'error', 'finish']) {
    receiver.on(event, (...args) => c.log('receiver', event, ...args));
  }
  for (const chunk of chunks) {
    if (receiver.destroyed || receiver.writableEnded) break;
    await new Promise((resolve) => {
      receiver.write(Buffer.from(chunk), (error) => {
        c.log('receiver', 'written', error);
        resolve();
      });
    });
  }
  await new Promise(setImmediate);
  c.log('receiver', 'in the end', receiver.destroyed, receiver.writableEnded, receiver.writableFinished);
}

const server = { isServer: true, allowSynchronousEvents: true };

s.once('a Receiver of a server', (c) =>
  receive(c, server, frame(1, 'text'), frame(2, 'a', false), frame(9, 'p'), frame(0, 'b'), frame(10), frame(8, Buffer.from('03e86279', 'hex'))),
);
s.once('a Receiver of a client', (c) => receive(c, {}, Buffer.from('8101618900', 'hex'), Buffer.from('8800', 'hex')));
s.once('a Receiver without options', (c) => receive(c, undefined, Buffer.from('820161', 'hex'), frame(1, 'masked')));
s.once('a Receiver, several frames in a chunk, byte by byte', async (c) => {
  const all = Buffer.concat([frame(1, 'one'), frame(2, 'two'), frame(9), frame(8)]);
  await receive(c, server, all);
  await receive(c, server, ...[...all].map((byte) => [byte]));
});
s.once('a Receiver, event by event', (c) =>
  receive(c, { isServer: true, allowSynchronousEvents: false }, Buffer.concat([frame(1, 'one'), frame(9), frame(2, 'two')]), frame(1, 'x')),
);
s.once('_totalPayloadLength of a Receiver: what the frames of a message under way have declared', (c) => {
  const receiver = new c.impl.Receiver();
  for (const event of ['message', 'ping']) receiver.on(event, () => c.log('receiver', event, receiver._totalPayloadLength));
  for (const chunk of ['810548656c6c6f', '02024865', '8900', '00036c', '6c6f', '8000']) {
    receiver.write(Buffer.from(chunk, 'hex'));
    c.log('receiver', receiver._totalPayloadLength);
  }
});
s.once('a Receiver and binary types', async (c) => {
  for (const binaryType of ['nodebuffer', 'arraybuffer']) await receive(c, { ...server, binaryType }, frame(2, 'bytes'), frame(1, 'text'));
});
s.once('a Receiver and its errors', async (c) => {
  const cases = [
    [{}, '9180 00000000'], [{}, 'c180 00000000'], [{}, '8380 00000000'], [{}, '8080 00000000'], [{}, '0980 00000000'], [{}, '89fe 007e'],
    [{}, '8101 61'], [{}, '8881 00000000 03'], [{}, '8882 00000000 03e7'], [{}, '8182 00000000 c328'], [{ maxPayload: 3 }, '8284 00000000'],
    [{}, '82ff 0020000000000000'], [{ maxFragments: 1 }, '0280 00000000 0080 00000000'], [{ skipUTF8Validation: true }, '8182 00000000 c328'],
  ];
  for (const [options, hex] of cases) {
    const receiver = new c.impl.Receiver({ ...server, ...options });
    receiver.on('message', (...args) => c.log('receiver', 'message', ...args));
    const error = await new Promise((resolve) => {
      receiver.on('error', resolve);
      receiver.write(Buffer.from(hex.replaceAll(' ', ''), 'hex'), (problem) => problem || resolve('none'));
    });
    c.log('receiver', hex, error, receiver.destroyed);
  }
});

// F02, F03, F04, F06, F08, F10, F11, F12, F19, F20, Z01: frames that break the protocol or a limit: the error, the close frame, the events.
import { frame } from '../../helpers/clients.mjs';
import { section } from '../scenario.mjs';

const s = section('protocol errors');
export default s;

const broken = (title, hex, options = {}) =>
  s.all(title, (c) => c.session(options, ({ peer }) => peer.send(Array.isArray(hex) ? hex : [hex])));

broken('RSV2', 'a180 00000000');
broken('RSV3', '9180 00000000');
broken('RSV1 without permessage-deflate', 'c180 00000000');
broken('RSV1 of a control frame', 'c980 00000000');
broken('opcode 3', '8380 00000000');
broken('opcode 7', '8780 00000000');
broken('opcode 11', '8b80 00000000');
broken('a continuation of nothing', '8080 00000000');
broken('a new message inside of a fragmented one', ['0180 00000000', '8180 00000000']);
broken('a fragmented ping', '0980 00000000');
broken('a ping of 126 bytes', '89fe 007e 00000000');
broken('a ping with a 64 bit length', '89ff');
broken('a frame that is not masked', '8103616263');
broken('a close frame of one byte', '8881 00000000 03');
broken('a close frame of 126 bytes', '88fe 007e 00000000');
s.all('close codes that are none', async (c) => {
  for (const code of [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65535]) {
    await c.session({}, ({ peer }) => peer.send(['8882 00000000', code.toString(16).padStart(4, '0')]));
  }
});
broken('invalid UTF-8 in text', '8182 00000000 c328');
broken('invalid UTF-8 across fragments', ['0181 00000000 e2', '8081 00000000 28']);
broken('text that ends inside of a character', '8182 00000000 e282');
broken('a surrogate in text', '8183 00000000 eda080');
broken('invalid UTF-8 in a close reason', '8884 00000000 03e8 c328');
s.all('invalid UTF-8 in a fragment that is not the last', async (c) => {
  const { peer } = await c.open();
  await peer.send(['0182 00000000 c328', '8980 00000000']);
  await peer.frames(1);
  peer.report();
});
broken('a length of 2^53', '82ff 0020000000000000');
broken('a length of 2^63', '82ff 8000000000000000');
broken('a message above maxPayload', '8286 00000000', { maxPayload: 5 });
broken('fragments that sum up above maxPayload', ['0283 00000000 616263', '8083 00000000'], { maxPayload: 5 });
broken('more fragments than maxFragments', ['0280 00000000', '0080 00000000', '0080 00000000'], { maxFragments: 2 });
broken('RSV2 before RSV1, opcode and mask', 'f300');
broken('an opcode before the mask', '8300');
broken('a bad length before the mask of a control frame', '897e');
broken('what came before is delivered first', ['8181 00000000 61', '8981 00000000 70', '8380 00000000', '8181 00000000 62']);

s.all('a message of maxPayload and maxFragments passes', (c) =>
  c.session({ maxPayload: 6, maxFragments: 2 }, ({ peer }) =>
    peer.send(Buffer.concat([frame(2, 'abcdef'), frame(1, 'abc', false), frame(0, 'def'), frame(8)])),
  ),
);

for (const maxPayload of [0, Infinity, 2 ** 31]) {
  s.all(`maxPayload ${maxPayload} is no limit`, (c) =>
    c.session({ maxPayload, maxFragments: 0 }, ({ peer }) =>
      peer.send(Buffer.concat([frame(2, 'a', false), frame(0, 'b', false), frame(0, 'c'), frame(8)])),
    ),
  );
}

s.all('control frames do not count for maxPayload', (c) =>
  c.session({ maxPayload: 2 }, ({ peer }) => peer.send(Buffer.concat([frame(9, 'abcdef'), frame(2, 'ab'), frame(8)]))),
);

s.session('the states around an error', ({ c, ws, peer }) => {
  ws.on('error', () => c.log('server', 'in error', ws.readyState, ws._closeFrameReceived));
  ws.on('close', () => c.log('server', 'in close', ws.readyState));
  return peer.send(['8380 00000000']);
});

s.session('send, ping and close in the error handler', ({ c, ws, peer }) => {
  ws.on('error', () => {
    ws.send('x', (error) => c.log('callbacks', 'send', error));
    ws.ping('x', (error) => c.log('callbacks', 'ping', error));
    ws.close(1000);
  });
  return peer.send(['8380 00000000']);
});

s.session('the peer answers the close frame of an error', async ({ peer }) => {
  peer.answersEnd = false;
  await peer.send(['8380 00000000']);
  await peer.frames(1);
  await peer.send(frame(8, Buffer.from([3, 234])));
  peer.end();
});

s.session('an error after close() was called', async ({ ws, peer }) => {
  ws.close(1001, 'bye');
  await peer.frames(1);
  await peer.send(['8380 00000000']);
});

s.session('what a handler sends in the next tick leaves before the close frame of an error', ({ c, ws, peer }) => {
  ws.on('message', (data) => process.nextTick(() => ws.send(data, (error) => c.log('callbacks', error ?? null))));
  return peer.send(['8181 00000000 61', '8181 00000000 62', '8380 00000000']);
});

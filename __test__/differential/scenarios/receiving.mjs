// The events of a server's WebSocket for the frames of a client.
import { once } from 'node:events';

import { frame } from '../../helpers/clients.mjs';
import { next } from '../context.mjs';
import { section } from '../scenario.mjs';

const s = section('receiving');
export default s;

const CLOSE = frame(8, Buffer.from([3, 232]));
const big = (opcode, bytes, fin = true) => {
  const header = Buffer.alloc(14);
  header[0] = (fin ? 0x80 : 0) | opcode;
  header[1] = 0xff;
  header.writeBigUInt64BE(BigInt(bytes.length), 2);
  return Buffer.concat([header, bytes]);
};

/** A scenario in which the peer sends these pieces at once and then a close frame. */
function sends(title, ...pieces) {
  s.all(title, (c) => c.session({}, ({ peer }) => peer.send(Buffer.concat([...pieces, CLOSE]))));
}

sends('text is a Buffer, binary is a Buffer', frame(1, 'hello'), frame(2, 'bytes'));
sends('empty text and binary', frame(1), frame(2));
sends('a message in fragments', frame(1, 'a', false), frame(0, 'b', false), frame(0, 'c'));
sends('empty fragments', frame(2, '', false), frame(0, '', false), frame(0, ''));
sends('control frames between fragments', frame(1, 'a', false), frame(9, 'p'), frame(10, 'q'), frame(0, 'b'));
sends('pings and pongs, empty and of 125 bytes', frame(9), frame(9, 'x'.repeat(125)), frame(10), frame(10, 'y'.repeat(125)));
sends('a character cut by a fragment', frame(1, Buffer.from('e282', 'hex'), false), frame(0, Buffer.from('ac', 'hex')));
sends('lengths that need 16 and 64 bits', big(2, Buffer.alloc(70_000, 'x')), big(1, Buffer.alloc(3000, 'y')));
sends('a length in more bits than it needs', big(1, Buffer.from('abc')), Buffer.from('81fe000300000000646566', 'hex'));
sends('nothing after the close frame counts', frame(1, 'before'), CLOSE, frame(1, 'after'), frame(9, 'after'));

s.session('a masked frame is unmasked', ({ peer }) => peer.send(['818537fa213d7f9f4d5158', '8882 01020304 02ea']));

s.session('a frame byte by byte', async ({ peer }) => {
  for (const byte of Buffer.concat([frame(1, 'slow'), CLOSE])) await peer.send(Buffer.from([byte]));
});

s.session("'data' of the socket has the bytes", ({ c, ws, peer }) => {
  ws._socket.on('data', (chunk) => c.log('bytes', chunk.toString('hex')));
  return peer.send(Buffer.concat([frame(2, 'sent'), CLOSE]));
});

s.over('stream')("'data' of the socket has the bytes, push() adds some", (c) =>
  c.session({}, async ({ ws, peer }) => {
    ws._socket.on('data', (chunk) => c.log('bytes', chunk.toString('hex')));
    const pushed = once(ws, 'message');
    ws._socket.push(frame(1, 'pushed'));
    await pushed;
    await peer.send(Buffer.concat([frame(2, 'sent'), CLOSE]));
  }),
);

s.over('stream')('push(null) is the end of the peer', (c) =>
  c.session({}, ({ ws, peer }) => {
    peer.answersEnd = true;
    ws._socket.push(frame(1, 'pushed'));
    ws._socket.push(null);
  }),
);

s.all('a message sent together with the upgrade request', (c) =>
  c.session({}, () => {}, { early: Buffer.concat([frame(1, 'early'), frame(2, 'bird'), CLOSE]) }),
);

s.session('emitted back to back: ticks and microtasks of handlers run behind the whole chunk', ({ c, ws, peer }) => {
  ws.on('message', (data) => {
    process.nextTick(() => c.log('server', `tick of ${data}`));
    Promise.resolve().then(() => c.log('server', `microtask of ${data}`));
  });
  return peer.send(Buffer.concat([frame(1, 'a'), frame(1, 'b'), frame(9, 'p'), frame(1, 'c'), CLOSE]));
});

s.session('allowSynchronousEvents false: one event per turn of the event loop', ({ c, ws, peer }) => {
  ws.on('message', (data) => {
    process.nextTick(() => c.log('server', `tick of ${data}`));
    Promise.resolve().then(() => c.log('server', `microtask of ${data}`));
  });
  ws.on('ping', () => process.nextTick(() => c.log('server', 'tick of ping')));
  return peer.send(Buffer.concat([frame(1, 'a'), frame(9, 'p'), frame(2, 'b'), frame(10, 'q'), frame(1, 'c'), CLOSE]));
}, { allowSynchronousEvents: false });

s.all('messages that came with the request, listeners that are added a microtask after connection', async (c) => {
  const { wss, port } = await c.listen();
  const peer = await c.peer(port);
  peer.upgrade({}, Buffer.concat([frame(1, 'one'), frame(1, 'two'), CLOSE]));
  const [ws] = await once(wss, 'connection');
  c.watch('server', ws);
  await Promise.all([once(ws, 'close'), peer.closed()]);
});

for (const type of ['nodebuffer', 'arraybuffer', 'fragments', 'blob']) {
  s.all(`binaryType ${type}`, (c) =>
    c.session({}, ({ ws, peer }) => {
      ws.binaryType = type;
      c.log('server', 'binaryType', ws.binaryType);
      const pieces = [frame(2, 'one'), frame(2), frame(1, 'text'), frame(2, 'in ', false), frame(0, 'two'), CLOSE];
      return peer.send(Buffer.concat(pieces));
    }),
  );
}

s.session('binaryType: an unknown one is ignored, and it can change between messages', ({ c, ws, peer }) => {
  ws.binaryType = 'arraybuffer';
  ws.binaryType = 'foo';
  c.log('server', 'binaryType', ws.binaryType);
  ws.on('message', () => {
    ws.binaryType = 'nodebuffer';
  });
  return peer.send(Buffer.concat([frame(2, 'a'), frame(2, 'b'), CLOSE]));
});

s.session('the content of a blob', async ({ c, ws, peer }) => {
  ws.binaryType = 'blob';
  const message = next(ws, 'message');
  peer.send(frame(2, 'blobby'));
  const [blob, isBinary] = await message;
  c.log('blob', blob.size, blob.type, Buffer.from(await blob.arrayBuffer()), isBinary);
  ws.close();
  await peer.frames(1);
  peer.send(CLOSE);
});

s.all('the empty message and the empty reason are one and the same Buffer', async (c) => {
  const seen = [];
  await c.session({}, ({ ws, peer }) => {
    ws.on('message', (data) => seen.push(data));
    ws.on('close', (code, reason) => seen.push(reason));
    return peer.send(Buffer.concat([frame(1), frame(2), CLOSE]));
  });
  c.log('same', seen.length, seen.every((one) => one === seen[0]));
});

s.session('autoPong false: no pong, but the event', ({ peer }) => peer.send(Buffer.concat([frame(9, 'p'), CLOSE])), { autoPong: false });

s.session('a pong leaves before what the ping handler sends', ({ ws, peer }) => {
  ws.on('ping', () => ws.send('from the handler'));
  return peer.send(Buffer.concat([frame(9, 'p'), CLOSE]));
});

s.session('no automatic pong once close() was called', async ({ ws, peer }) => {
  ws.close(1000);
  await peer.frames(1);
  await peer.send(Buffer.concat([frame(9, 'late'), frame(1, 'late too'), CLOSE]));
});

s.all('skipUTF8Validation: invalid text and an invalid reason are delivered', (c) =>
  c.session({ skipUTF8Validation: true }, ({ peer }) =>
    peer.send(Buffer.concat([frame(1, Buffer.from('c328', 'hex')), frame(8, Buffer.from('03e8c328', 'hex'))])),
  ),
);

// J05.
s.all('close() and send() inside a message handler: what follows in the chunk', async (c) => {
  const messages = Buffer.concat([frame(1, 'a'), frame(1, 'b'), frame(10, 'p'), frame(1, 'c'), CLOSE]);
  await c.session({}, ({ ws, peer }) => {
    ws.on('message', (data) => {
      c.log('server', 'state', ws.readyState);
      ws.send(`echo ${data}`);
      if (String(data) === 'b') ws.close(4000, 'enough');
    });
    return peer.send(messages);
  });
});

s.session('a ping behind the message whose handler closes', ({ ws, peer }) => {
  ws.on('message', () => ws.close(1000));
  return peer.send(Buffer.concat([frame(1, 'a'), frame(9, 'p'), CLOSE]));
});

s.session('terminate() inside a message handler: what follows in the chunk', ({ c, ws, peer }) => {
  ws.once('message', () => {
    ws.terminate();
    c.log('server', 'state', ws.readyState);
  });
  return peer.send(Buffer.concat([frame(1, 'a'), frame(1, 'b'), frame(1, 'c')]));
});

// Bytes that are written as they are, of lengths on both sides of what goes to the reactor by itself: they leave, and what
// is sent behind them.
import { once } from 'node:events';

import test from 'ava';

import { BytePeer } from './helpers/byte-peer.mjs';
import { implementation } from './helpers/impl.mjs';
import { WAYS } from './helpers/ways.mjs';

const { Sender } = implementation;
const SIZES = [0, 1, 126, 16_383, 16_384, 65_535, 65_536, 70_000, 1 << 20];

/** Resolves when what was sent is with the kernel, and nothing waits. */
async function settled(ws, written) {
  await written;
  while (ws.bufferedAmount > 0) await new Promise(setImmediate);
}

for (const [way, start] of Object.entries(WAYS)) {
  test(`${way}: Sender.frame() with _sender.sendFrame(), and _socket.write()`, async (t) => {
    const server = await start(t);
    const connected = once(server, 'connection');
    const peer = await BytePeer.connect(t, server.address());
    await peer.upgrade();
    const [ws] = await connected;
    const write = {
      sendFrame: (list, callback) => ws._sender.sendFrame(list, callback),
      socket: (list, callback) => ws._socket.write(Buffer.concat(list), callback),
    };
    for (const name of ['sendFrame', 'socket']) {
      for (const size of SIZES) {
        const payload = Buffer.alloc(size, `${name}${size}`);
        const options = { fin: true, rsv1: false, opcode: 2, mask: false, readOnly: true };
        const written = new Promise((resolve) => write[name](Sender.frame(payload, options), resolve));
        ws.send('behind');
        const [first, second] = [await peer.readFrame(), await peer.readFrame()];
        t.true(first.opcode === 2 && first.payload.equals(payload), `${name} ${size}`);
        t.deepEqual([second.opcode, second.payload.toString()], [1, 'behind']);
        t.falsy(await written);
        await settled(ws, written);
      }
    }
  });

  test(`${way}: the answer to an upgrade, and what is sent behind it`, async (t) => {
    for (const size of SIZES) {
      const server = await start(t);
      server.on('headers', (lines) => lines.push(`X-Long: ${'x'.repeat(size)}`));
      server.on('connection', (ws) => ws.send('behind'));
      const peer = await BytePeer.connect(t, server.address());
      const head = await peer.upgrade();
      t.true(head.startsWith('HTTP/1.1 101 ') && head.includes(`X-Long: ${'x'.repeat(size)}\r\n`), `${size}`);
      t.is((await peer.readFrame()).payload.toString(), 'behind');
    }
  });

  test(`${way}: the body of a refusal`, async (t) => {
    for (const size of SIZES) {
      const body = 'y'.repeat(size);
      const server = await start(t, { verifyClient: (info, answer) => answer(false, 401, body || ' ') });
      const peer = await BytePeer.connect(t, server.address());
      const head = await peer.upgrade();
      t.true(head.startsWith('HTTP/1.1 401 '), `${size}`);
      t.is((await peer.readToEnd()).toString(), body || ' ');
    }
  });
}

// The collections that V8 makes because of the memory of received messages. Since Node 24 they
// would be of the whole heap, see lib/reactor/message-memory.js.
import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';

import { Child, frame, test, upgradeRequest } from '../helpers/index.mjs';
import { isAll } from '../helpers/thresholds.mjs';

const MIB = 2 ** 20;
/** So much would bring on five collections and more, if each 80 MB did. */
const SENT = 400 * MIB;
/** Sent before, because a process that has just begun has some of its own. */
const FIRST = 200 * MIB;
/** Collections of the whole heap: before it was all of them, or all but two. */
const MOST = 1 / 4;

async function send(t, port, { bytes, way }) {
  const socket = (way === 'tls' ? tls : net).connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
  t.teardown(() => socket.destroy());
  socket.write(upgradeRequest());
  await once(socket, 'data');
  socket.resume();
  const message = frame(2, Buffer.alloc(bytes, 1));
  const together = Buffer.concat(Array.from({ length: Math.max(1, Math.floor(MIB / bytes)) }, () => message));
  let sent = 0;
  for (; sent < FIRST + SENT; sent += together.length) {
    if (!socket.write(together)) await once(socket, 'drain');
  }
  socket.end(frame(8, Buffer.alloc(0)));
  return (sent / message.length) * bytes;
}

/** Bytes of a message, the way in, and options of node. */
const ROWS = [
  ...[1024, 16_384, 65_000, 100_000, MIB].map((bytes) => ({ bytes })),
  ...[16_384, 100_000, MIB].map((bytes) => ({ bytes, way: 'tls' })),
  { bytes: 16_384, nodeArgs: ['--min-semi-space-size=4'] },
  { bytes: 16_384, nodeArgs: ['--min-semi-space-size=16', '--max-semi-space-size=16'] },
];

const CHOSEN = isAll ? ROWS : ROWS.filter((_, index) => index % 3 === 1);

for (const { bytes, way = 'port', nodeArgs = [] } of CHOSEN) {
  const title = ['400 MiB in messages of', bytes, 'bytes bring on hardly a collection of the whole heap,', way, ...nodeArgs].join(' ');
  test.serial(title, async (t) => {
    const child = new Child(t, 'collected.mjs', [way, FIRST], { nodeArgs });
    const sent = await send(t, await child.line(0), { bytes, way });
    const { bytes: received, whole, young } = JSON.parse(await child.line(1));
    t.is(received, sent);
    t.true(whole <= MOST * (whole + young), `${whole} of the whole heap, ${young} of the young generation`);
    t.true(young > 0);
  });
}

// Open connections stay without references; closed ones go, however they were closed.
import { once } from 'node:events';
import net from 'node:net';

import { Child, MEASURED, frame, repeat, test, upgradeRequest } from '../helpers/index.mjs';
import { isAll } from '../helpers/thresholds.mjs';

const CYCLES = isAll ? 20_000 : 5000;
const MIB = 2 ** 20;

const ECHO = frame(2, 'echo me').length - 4;
const ends = [
  // The closing handshake, as it should be.
  (socket) => socket.write(frame(8, Buffer.from([3, 232]))),
  (socket) => socket.end(),
  (socket) => socket.resetAndDestroy(),
  (socket) => socket.write(frame(1, 'terminate')),
  // A broken rule: an unknown opcode.
  (socket) => socket.write(frame(3, '')),
  // Mid-message.
  (socket) => {
    socket.write(frame(2, 'unfinished', false));
    socket.end();
  },
];

function startMortal(t) {
  return new Child(t, 'mortal.mjs', [], MEASURED);
}

async function figures(child, line) {
  child.process.stdin.write('\n');
  return JSON.parse(await child.line(line));
}

/** An open connection whose echo has come. */
function open(port) {
  return new Promise((resolve) => {
    const socket = net.connect({ port, host: '127.0.0.1' });
    socket.on('error', () => {});
    let bytes = 0;
    let head = 0;
    socket.on('data', (data) => {
      if (bytes === 0) {
        head = data.length;
        socket.write(frame(2, 'echo me'));
      }
      bytes += data.length;
      if (bytes >= head + ECHO) resolve(socket);
    });
    socket.write(upgradeRequest());
  });
}

async function cycle(port, number) {
  const socket = await open(port);
  const closed = once(socket, 'close').catch(() => {});
  ends[number % ends.length](socket);
  await closed;
}

// R08.
test.serial(`${CYCLES} connections come and go and leave nothing`, async (t) => {
  const child = startMortal(t);
  const port = await child.line(0);
  let line = 0;
  // Expected states take time: they are polled for. The deadline is that of the test.
  const settled = async (isSettled) => {
    for (;;) {
      const found = await figures(child, ++line);
      if (isSettled(found)) return found;
    }
  };
  const isGone = ({ alive, clients }) => alive === 0 && clients === 0;
  await repeat(CYCLES / 2, 20, (number) => cycle(port, number));
  const before = await settled((found) => found.closed === CYCLES / 2 && isGone(found));
  await repeat(CYCLES / 2, 20, (number) => cycle(port, number));
  const isNoMore = ({ files, heap }) => files <= before.files && heap < before.heap + 2 * MIB;
  const after = await settled((found) => found.closed === CYCLES && isGone(found) && isNoMore(found));
  t.log(`${before.rss / MIB} -> ${after.rss / MIB} MiB, ${after.files} files`);
  t.true(after.rss < before.rss + 16 * MIB, `${before.rss / MIB} -> ${after.rss / MIB} MiB`);

  child.process.stdin.end();
  t.like(await child.ended(), { code: 0, stderr: '' });
});

// R09. The memory of an idle connection. src/reactor/conn/tests/size.rs tests the reactor's part.
import { once } from 'node:events';
import net from 'node:net';

import { Child, MEASURED, repeat, test, upgradeRequest } from '../helpers/index.mjs';

/** Opened first, for what is made once: compiled code, tables. */
const FIRST = 500;
const CONNECTIONS = 2000;

/**
 * 152 bytes are the WebSocket and its listeners, 16 its place in the reactor's table. The rest is
 * for V8's feedback data, which grows more on a busy machine. A dictionary of listeners would be
 * 250 more.
 */
const MOST = 260;

async function open(t, port) {
  const socket = net.connect({ port, host: '127.0.0.1' });
  t.teardown(() => socket.destroy());
  socket.write(upgradeRequest());
  await once(socket, 'data');
}

test.serial(`an idle connection takes at most ${MOST} bytes of the heap`, async (t) => {
  const child = new Child(t, 'idle.mjs', [], MEASURED);
  const port = await child.line(0);
  let line = 0;
  const heapOf = async (connections) => {
    child.process.stdin.write('\n');
    const { heap, open: found } = JSON.parse(await child.line(++line));
    t.is(found, connections);
    return heap;
  };
  await repeat(FIRST, 20, () => open(t, port));
  const before = await heapOf(FIRST);
  await repeat(CONNECTIONS, 20, () => open(t, port));
  let each = Infinity;
  // Memory that V8 keeps for a moment is gone at a later look; that of a connection is not.
  for (let look = 0; look < 20 && each > MOST; look++) {
    each = ((await heapOf(FIRST + CONNECTIONS)) - before) / CONNECTIONS;
  }
  t.log(`${each} bytes`);
  t.true(each <= MOST, `${each}`);
});

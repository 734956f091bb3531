// The same data to many connections, which goes to the reactor once.
import { once } from 'node:events';
import net from 'node:net';

import test from 'ava';

import { Child, MEASURED } from './helpers/child.mjs';
import { isInline, isReference, isSpread } from './helpers/impl.mjs';
import { upgradeRequest } from './helpers/raw-client.mjs';
import { sameSuite } from './helpers/same-suite.mjs';

sameSuite(test);

const MIB = 2 ** 20;
const CONNECTIONS = 40;
const REACTORS = isSpread ? Number(process.env.REACTOR_WS_REACTORS) : 1;

// A payload that is written from where it is goes there with each send by itself.
const sharedOnly = isReference || isInline ? test.skip : test;

sharedOnly('what connections that do not read are sent is kept once', async (t) => {
  const child = new Child(t, 'broadcasting.mjs', [], MEASURED);
  const port = Number(await child.line(0));
  for (let n = 0; n < CONNECTIONS; n++) {
    const socket = net.connect({ port, host: '127.0.0.1' });
    t.teardown(() => socket.destroy());
    socket.write(upgradeRequest());
    await once(socket, 'data');
    socket.pause();
  }
  // The first message of each length fills the buffers of the kernel.
  for (const [line, [length, count]] of [[MIB, 8], [MIB, 16], [16_384, 1024]].entries()) {
    child.process.stdin.write(`${length} ${count}\n`);
    const { grown, waiting, connections } = JSON.parse(await child.line(line + 1));
    t.log(`${length} B: ${grown / MIB} MiB, ${waiting / MIB} wait for each`);
    t.is(connections, CONNECTIONS);
    if (line === 0) continue;
    // What waited before may have gone to the kernel meanwhile.
    t.true(waiting >= (length * count) / 2, `${waiting / MIB} MiB`);
    // With each reactor once, and twice for those who had it first there.
    t.true(grown < 6 * REACTORS * length * count, `${grown / MIB} MiB`);
  }
});

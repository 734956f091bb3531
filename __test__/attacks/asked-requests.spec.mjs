// While verifyClient decides, a peer sends on: the bytes after its request stay in the socket.
import { once } from 'node:events';
import net from 'node:net';

import { Child, MEASURED, openVisitor, repeat, test, upgradeRequest } from '../helpers/index.mjs';

const CONNECTIONS = 500;
const BEHIND = 60 * 1024;

/** Bytes of each connection: those of one read, and those of a request in JavaScript. */
const MOST = 24 * 1024;

test.serial(`${CONNECTIONS} connections send ${BEHIND} bytes behind a request that is being decided`, async (t) => {
  const child = new Child(t, 'asking.mjs', [], MEASURED);
  const port = await child.line(0);
  let line = 0;
  const look = async () => {
    child.process.stdin.write('\n');
    return JSON.parse(await child.line(++line));
  };
  const attack = async () => {
    const socket = net.connect({ port, host: '127.0.0.1' });
    t.teardown(() => socket.destroy());
    await once(socket, 'connect');
    socket.write(Buffer.concat([Buffer.from(upgradeRequest()), Buffer.alloc(BEHIND, 1)]));
  };
  await repeat(100, 20, attack);
  while ((await look()).asked < 100);
  const before = (await look()).rss;
  await repeat(CONNECTIONS, 20, attack);
  while ((await look()).asked < 100 + CONNECTIONS);
  const each = ((await look()).rss - before) / CONNECTIONS;

  const canary = await openVisitor(t, `ws://127.0.0.1:${port}/canary`);
  const sent = performance.now();
  canary.send('canary');
  t.is(String((await once(canary, 'message'))[0]), 'canary');
  t.log(`${Math.round(each)} bytes each, a round trip beside it ${(performance.now() - sent).toFixed(2)} ms`);
  t.true(each < MOST, `${each}`);
});

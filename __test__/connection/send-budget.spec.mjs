// The budget of bytes that wait to be sent to all connections of a thread. All servers here have
// the same budget: the first one's counts.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';

import { connect, allWays as everyWay, openBy, ownSerial } from '../helpers/index.mjs';

const BUDGET = 8 * 2 ** 20;
const MESSAGE = Buffer.alloc(64 * 1024);

// R01, R03.
everyWay(ownSerial, 'the client to which most waits is ended, with its callbacks, and others go on', async (t, start) => {
  const server = await start(t, { sendBudget: BUDGET });
  const stuck = await connect(t, server);
  const reader = await connect(t, server);
  stuck.client.pause();
  const failed = once(stuck.ws, 'error');
  const closed = new Promise((resolve) => stuck.ws.once('close', resolve));
  let isOver = false;
  let [sent, called] = [0, 0];
  failed.then(() => (isOver = true));
  while (!isOver) {
    for (let i = 0; i < 8; i++) {
      sent++;
      stuck.ws.send(MESSAGE, () => called++);
    }
    // This thread rests: the reactor, which has to look, may have no other processor.
    await new Promise((resolve) => setTimeout(resolve, 1));
    t.true(sent < 10_000, 'nothing is ended');
  }
  t.is((await failed)[0].code, 'WS_ERR_SEND_BUDGET');
  t.is(await closed, 1006);
  while (called !== sent) await new Promise(setImmediate);
  const answer = once(reader.client, 'message');
  reader.ws.send('still here');
  t.is(String((await answer)[0]), 'still here');
  t.is(server.metrics().connections.failed.WS_ERR_SEND_BUDGET, 1);
  // The client may have a message before the reactor has noted that the kernel took it.
  while (server.metrics().bytesWaiting !== 0) await new Promise(setImmediate);
});

everyWay(ownSerial, 'bytes that wait to be compressed count', async (t, start) => {
  const { client, server, ws } = await openBy(start, t, { sendBudget: BUDGET, perMessageDeflate: true });
  client.pause();
  const compressed = () => server.metrics().reactors.compressedFrom;
  const before = compressed();
  const message = randomBytes(2 ** 20);
  const failed = once(ws, 'error');
  for (let sent = 0; sent < 4 * BUDGET; sent += message.length) ws.send(message);
  t.is((await failed)[0].code, 'WS_ERR_SEND_BUDGET');
  t.true(compressed() - before < BUDGET, `${compressed() - before} bytes had been compressed`);
});

// Programs that misuse the API: the misuse harms no other connection and never the process.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

import { nextEvents, openPair, ownOnly } from '../helpers/index.mjs';

// J10.
ownOnly('another thread writes to shared memory while it is sent: the frames are whole', async (t) => {
  const { ws, client } = await openPair(t);
  const shared = new Uint8Array(new SharedArrayBuffer(100_000));
  const source = `const { workerData } = require('node:worker_threads'); for (let i = 0; ; i++) workerData.fill(i & 0xff);`;
  const worker = new Worker(source, { eval: true, workerData: shared });
  await once(worker, 'online');
  const received = nextEvents(client, 'message', 200);
  for (let i = 0; i < 100; i++) {
    ws.send(shared);
    ws.send(shared.subarray(0, 1000));
  }
  t.deepEqual((await received).map(([data]) => data.length), Array.from({ length: 200 }, (_, i) => (i % 2 ? 1000 : 100_000)));
  await worker.terminate();
});

// JavaScript looks for the next message before it sleeps (`spin`): nothing else is affected.
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';

import { startServer, test } from '../helpers/index.mjs';

/** A peer on a thread of its own that answers at once, for as long as requests come. */
const PEER = `
const { WebSocket } = require('ws');
const { workerData } = require('node:worker_threads');
const socket = new WebSocket('ws://127.0.0.1:' + workerData);
socket.on('message', (data) => socket.send(data));
`;

for (const spin of [undefined, 0, 100_000]) {
  test(`spin ${spin}: one connection that never pauses leaves the event loop its other work`, async (t) => {
    const server = await startServer(t, { spin });
    const connected = once(server, 'connection');
    const worker = new Worker(PEER, { eval: true, workerData: server.address().port });
    t.teardown(() => worker.terminate());
    const [ws] = await connected;
    let answers = 0;
    ws.on('message', (data) => {
      answers++;
      ws.send(data);
    });
    ws.send('again and again');
    await once(ws, 'message');
    for (let round = 0; round < 50; round++) {
      const before = answers;
      // Another thread's work, a timer, and the next answer.
      await stat('.');
      await new Promise((resolve) => setTimeout(resolve, 1));
      await new Promise((resolve) => setImmediate(resolve));
      while (answers === before) await once(ws, 'message');
    }
    t.true(answers >= 50);
    ws.close();
    await once(ws, 'close');
  });
}

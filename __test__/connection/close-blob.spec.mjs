// close() after a Blob that is never read: closeTimeout counts from close(), as in ws.
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';

import { allWays as everyWay, openBy, ownSerial, test, urlOf } from '../helpers/index.mjs';

/** A Blob whose bytes never come. */
class Unread extends Blob {
  arrayBuffer() {
    return new Promise(() => {});
  }
}

everyWay(test, 'close() after a Blob that is never read ends by closeTimeout', async (t, start) => {
  const { ws, client } = await openBy(start, t, { closeTimeout: 50 });
  ws.send(new Unread(['x']), () => {});
  ws.close(1000);
  t.is(ws.readyState, ws.CLOSING);
  const [[code], [own]] = await Promise.all([once(client, 'close'), once(ws, 'close')]);
  t.deepEqual([code, own], [1006, 1006]);
});

// In ws the timer comes before what waits in the socket.

/** A client that answers while this thread does nothing. */
const CLIENT = `
  const { workerData: { url, ws } } = require('node:worker_threads');
  new (require(ws))(url, { rejectUnauthorized: false }).on('error', () => {});
`;

everyWay(ownSerial, 'after a Blob, too, an answer that has come in time is read before closeTimeout ends', async (t, start) => {
  const server = await start(t, { closeTimeout: 400 });
  const workerData = { url: urlOf(server), ws: createRequire(import.meta.url).resolve('ws') };
  const worker = new Worker(CLIENT, { eval: true, workerData });
  t.teardown(() => worker.terminate());
  const [ws] = await once(server, 'connection');
  ws.send(new Blob(['x']));
  ws.close(1000);
  const closed = once(ws, 'close');
  while (!ws._closeFrameSent && ws.readyState !== ws.CLOSED) await new Promise(setImmediate);
  // This thread rests, for longer than closeTimeout, without its event loop.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
  const [code] = await closed;
  t.deepEqual([code, ws.closeCause], [1000, 'closed']);
});

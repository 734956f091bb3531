// close() after a Blob that is never read: closeTimeout counts from close(), as in ws.
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';

import test from 'ava';

import { urlOf, wsClient as WsClient } from '../helpers/clients.mjs';
import { isReference } from '../helpers/impl.mjs';
import { ALL_WAYS as WAYS } from '../helpers/ways.mjs';

/** A Blob whose bytes never come. */
class Unread extends Blob {
  arrayBuffer() {
    return new Promise(() => {});
  }
}

for (const [way, start] of Object.entries(WAYS)) {
  test(`by way of ${way}: close() after a Blob that is never read ends by closeTimeout`, async (t) => {
    const server = await start(t, { closeTimeout: 50 });
    const client = new WsClient(urlOf(server));
    client.on('error', () => {});
    const [[ws]] = await Promise.all([once(server, 'connection'), once(client, 'open')]);
    ws.send(new Unread(['x']), () => {});
    ws.close(1000);
    t.is(ws.readyState, ws.CLOSING);
    const [[code], [own]] = await Promise.all([once(client, 'close'), once(ws, 'close')]);
    t.deepEqual([code, own], [1006, 1006]);
  });
}

// In ws the timer comes before what waits in the socket.
const ownOnly = isReference ? test.serial.skip : test.serial;

/** A client that answers while this thread does nothing. */
const CLIENT = `
  const { workerData: { url, ws } } = require('node:worker_threads');
  new (require(ws))(url, { rejectUnauthorized: false }).on('error', () => {});
`;

for (const [way, start] of Object.entries(WAYS)) {
  ownOnly(`by way of ${way}: after a Blob, too, an answer that has come in time is read before closeTimeout ends`, async (t) => {
    const server = await start(t, { closeTimeout: 400 });
    const workerData = { url: urlOf(server), ws: createRequire(import.meta.url).resolve('ws') };
    const worker = new Worker(CLIENT, { eval: true, workerData });
    t.teardown(() => worker.terminate());
    const [ws] = await once(server, 'connection');
    ws.send(new Blob(['x']));
    ws.close(1000);
    while (!ws._closeFrameSent) await new Promise(setImmediate);
    // This thread rests, for longer than closeTimeout, without its event loop.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
    const [code] = await once(ws, 'close');
    t.deepEqual([code, ws.closeCause], [1000, 'closed']);
  });
}

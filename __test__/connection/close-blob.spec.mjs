// close() after a Blob that is never read: closeTimeout counts from close(), as in ws.
import { once } from 'node:events';

import test from 'ava';

import { urlOf, wsClient as WsClient } from '../helpers/clients.mjs';
import { WAYS } from '../helpers/ways.mjs';

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

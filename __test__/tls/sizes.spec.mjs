// Messages of every size around a threshold, over TLS, with Node's client: plain, to a server that is
// paused, and to a client that does not read at first.
import { once } from 'node:events';

import test from 'ava';

import { wsClient } from '../helpers/clients.mjs';
import { SERVER, openSecure, startSecure } from '../helpers/secure.mjs';
import { SIZES } from '../helpers/thresholds.mjs';

/** At most as many bytes as the buffers on the way hold, or nobody would go on. */
const WAITING = 16 * 1024;

const WAYS = {
  plain: { most: Infinity },
  'to a server that is paused': { most: WAITING, before: ({ ws }) => ws.pause(), after: ({ ws }) => ws.resume() },
  'to a client that is paused': { most: Infinity, before: ({ client }) => client.pause(), after: ({ client }) => client.resume() },
};

for (const maxVersion of ['TLSv1.2', 'TLSv1.3']) {
  for (const [name, { most, before, after }] of Object.entries(WAYS)) {
    test(`${maxVersion}, ${name}`, async (t) => {
      const server = await startSecure(t, SERVER);
      const pair = await openSecure(t, server, wsClient, { maxVersion });
      pair.ws.on('message', (data) => pair.ws.send(data));
      for (const length of SIZES.filter((one) => one <= most)) {
        const message = Buffer.alloc(length, length % 251);
        const answer = once(pair.client, 'message');
        before?.(pair);
        pair.client.send(message);
        after?.(pair);
        const [data] = await answer;
        t.true(message.equals(data), `${length}`);
      }
    });
  }
}

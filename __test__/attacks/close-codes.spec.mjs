// A peer chooses the code of its close frame: that must not make time series, for good.
import { once } from 'node:events';
import { createRequire } from 'node:module';

import { connect, everyWay, frame, ownOnly } from '../helpers/index.mjs';

const { prometheus } = createRequire(import.meta.url)('reactor-ws/prometheus');

/** At the edges of what peers may send (RFC 6455, 7.4), and some in between. */
const CODES = [1000, 1003, 1007, 1014, 3000, 3001, 3999, 4000, 4321, 4998, 4999];

everyWay(ownOnly, 'clients with codes of their ownOnly make no new series', async (t, start) => {
  const server = await start(t);
  await connect(t, server);
  const series = () => prometheus(server).split('\n').map((line) => line.split(' ')[0]);
  const before = series();
  for (const code of CODES) {
    const { client, ws } = await connect(t, server);
    client._socket.write(frame(8, Buffer.from([code >> 8, code & 255])));
    t.is((await once(ws, 'close'))[0], code);
  }
  t.deepEqual(series(), before);
  const { closed } = server.metrics().connections;
  t.like(closed, { 1000: 1, 1003: 1, 1007: 1, 1014: 1, other: 7 });
  t.is(Object.values(closed).reduce((sum, count) => sum + count), CODES.length);
});

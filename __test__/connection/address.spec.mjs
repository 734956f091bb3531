// IPv6 addresses are written as Node writes them, whatever the runtime has.
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { SocketAddress } from 'node:net';

import { startServer, test, visitor } from '../helpers/index.mjs';

const { formatAddress } = createRequire(import.meta.url)('../../lib/connection/address.js');

/** As Node formats the addresses of a socket. */
function byNode(groups) {
  return new SocketAddress({ address: groups.map((group) => group.toString(16)).join(':'), family: 'ipv6' }).address;
}

function ours(groups) {
  return formatAddress(String.fromCharCode(...groups.flatMap((group) => [group >> 8, group & 255])));
}

test('every pattern of zeros, ones and other groups, as Node', (t) => {
  // Each group is one of these: 4^8 addresses, every place of every run.
  const values = [0, 1, 0xffff, 0x7f00];
  for (let number = 0; number < values.length ** 8; number++) {
    const groups = Array.from({ length: 8 }, (_, at) => values[Math.floor(number / values.length ** at) % values.length]);
    const text = ours(groups);
    if (text !== byNode(groups)) return t.is(text, byNode(groups));
  }
  t.pass();
});

test('a client of IPv4 on a server of every address', async (t) => {
  const server = await startServer(t, { host: undefined });
  const client = visitor(t, `ws://127.0.0.1:${server.address().port}`);
  const [[, request]] = await Promise.all([once(server, 'connection'), once(client, 'open')]);
  t.is(request.socket.remoteAddress, server.address().family === 'IPv6' ? '::ffff:127.0.0.1' : '127.0.0.1');
});

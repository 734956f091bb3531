// Negotiation when contexts have used up the budget, which is one for all tests of a file.
import { once } from 'node:events';

import { connect, allWays as everyWay, test } from '../helpers/index.mjs';

everyWay(test.serial, 'further clients are asked not to refer to earlier messages', async (t, start) => {
  for (const [budget, asked] of [
    [64 * 2 ** 20, undefined],
    [0, true],
  ]) {
    const server = await start(t, { perMessageDeflate: { threshold: 0, budget } });
    server.on('connection', (ws) => ws.on('message', (data) => ws.send(data)));
    const { client } = await connect(t, server);
    t.is(client._extensions['permessage-deflate'].params.client_no_context_takeover, asked);
    for (const text of ['once', 'once', 'x'.repeat(100_000)]) {
      client.send(text);
      t.is((await once(client, 'message'))[0].toString(), text);
    }
  }
});

// The options of the server's constructor. Run with WS_IMPL=ws, the same holds for ws.
import { once } from 'node:events';

import { askRaw, frames, isReference, openRaw, ownOnly, startServer, test } from './helpers/index.mjs';
import { upgradeRequest } from './helpers/raw-client.mjs';

ownOnly('maxPayload: 0: a message whose length takes more than 32 bits is refused by its header', async (t) => {
  const { ws, raw } = await openRaw(t, { maxPayload: 0 });
  const failed = once(ws, 'error');
  await raw.sendHex('82ff 0000000100000000');
  t.is((await failed)[0].code, 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH');
  t.is(await frames(raw, 4), '880203f1');
});

// F16. ws ends the connection after the 60th pong.
for (const pings of isReference ? [1, 60] : [1, 60, 61, 300, 2000]) {
  test(`maxPendingAutoPongs: ${pings} pings right after the request are answered after the 101`, async (t) => {
    const server = await startServer(t);
    const raw = await askRaw(t, server.address().port, upgradeRequest() + '\x89\x80\0\0\0\0'.repeat(pings));
    const text = await raw.until((all) => all.endsWith('\x8a\0'.repeat(pings)));
    t.regex(text, /^HTTP\/1\.1 101 /);
    t.is(server.clients.size, 1);
  });
}

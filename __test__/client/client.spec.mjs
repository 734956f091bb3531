// new WebSocket(url) over TLS. What else a client does: differential/scenarios/client.mjs and client-failures.mjs.
import { once } from 'node:events';
import net from 'node:net';

import { TOPIC_WAYS, WebSocket, cert, test } from '../helpers/index.mjs';

test('TLS: a certificate of nobody, and one that is known', async (t) => {
  const server = await TOPIC_WAYS.https(t);
  const { port } = server.address();
  const [error] = await once(new WebSocket(`wss://127.0.0.1:${port}`), 'error');
  t.regex(error.message, /self.signed/);
  const ws = new WebSocket(`wss://localhost:${port}`, { ca: cert, family: 4 });
  t.teardown(() => ws.terminate());
  await once(ws, 'open');
  t.true(ws._socket.authorized);
  t.true(ws._socket instanceof net.Socket);
});

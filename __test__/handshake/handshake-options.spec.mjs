// The effect of options, overridden methods and listeners on the opening handshake.
import test from 'ava';

import { PATH, answerTo } from '../helpers/answers.mjs';
import { frame } from '../helpers/clients.mjs';
import { startServer } from '../helpers/impl.mjs';
import { RawClient, upgradeRequest } from '../helpers/raw-client.mjs';

test("'wsClientError' does not come for a wrong path", async (t) => {
  const server = await startServer(t, { path: '/a' });
  server.on('wsClientError', () => t.fail());
  t.is(await answerTo(t, server, upgradeRequest(), PATH), PATH);
});

// O05.
test('a client that has sent all it has to say before it is accepted is heard', async (t) => {
  const server = await startServer(t, { verifyClient: () => true });
  const heard = new Promise((resolve) => {
    server.on('connection', (ws) => {
      const events = [];
      ws.on('message', (data) => events.push(String(data)));
      ws.on('close', (code) => resolve([...events, code]));
    });
  });
  const client = await RawClient.connect(t, server.address().port);
  client.send(Buffer.concat([Buffer.from(upgradeRequest()), frame(1, 'a'), frame(1, 'b')]));
  client.end();
  t.deepEqual(await heard, ['a', 'b', 1006]);
  t.true((await client.closed()).startsWith('HTTP/1.1 101 '));
});

// H19.
test('a reset while verifyClient decides closes the socket', async (t) => {
  const server = await startServer(t, {
    verifyClient: ({ req }, _decide) => {
      req.socket.on('error', () => {}).once('close', done);
      client.reset();
    }
  });
  let done;
  const closed = new Promise((resolve) => {
    done = resolve;
  });
  const client = await RawClient.connect(t, server.address().port);
  client.send(upgradeRequest());
  await closed;
  t.pass();
});

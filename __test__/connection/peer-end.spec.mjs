// O05. A peer that ends its side right after its messages: work that handlers put off within the turn
// is still done before 'close'.
import { once } from 'node:events';

import { allWays, askRaw, startServer, test, upgradeRequest } from '../helpers/index.mjs';

const PUT_OFF = {
  'a microtask': (act) => queueMicrotask(act),
  'two promises': async (act) => {
    await null;
    await null;
    act();
  },
  'a tick': (act) => process.nextTick(act),
  'an immediate': (act) => setImmediate(act),
  'an immediate of a tick': (act) => process.nextTick(setImmediate, act),
};

/** Connections of each test: the kernel decides whether the end comes with the bytes before it. */
const CONNECTIONS = 8;

const SWITCHED = 'HTTP/1.1 101 Switching Protocols\r\n';
const MESSAGE = '\x81\x81\0\0\0\0a';
const PING = '\x89\x80\0\0\0\0';

/** The answer to bytes with the end after them. */
async function answer(t, server, bytes) {
  const client = await askRaw(t, server.address().port, bytes);
  client.end();
  return client.closed();
}

/** The whole answer to a request, and frames, with the end after them; the same each time. */
async function answers(t, server, frames = '') {
  const all = await Promise.all(Array.from({ length: CONNECTIONS }, () => answer(t, server, upgradeRequest() + frames)));
  t.is(new Set(all).size, 1, all.join());
  return all[0];
}

for (const [when, putOff] of Object.entries(PUT_OFF)) {
  allWays(test, `answered after ${when}, a request, a message and a ping have their answers`, async (t, start) => {
    const verifyClient = (info, done) => putOff(() => done(true));
    const server = await start(t, { verifyClient });
    t.true((await answers(t, server)).startsWith(SWITCHED));

    server.options.verifyClient = undefined;
    server.on('connection', (ws) => {
      ws.on('message', () => putOff(() => ws.send('m')));
      ws.on('ping', () => putOff(() => ws.close(4000)));
    });
    t.true((await answers(t, server, MESSAGE)).endsWith('\r\n\r\n\x81\x01m'));
    const [head, frames] = (await answers(t, server, PING)).split('\r\n\r\n');
    t.true(head.startsWith(SWITCHED));
    t.is(frames, '\x8a\0\x88\x02\x0f\xa0');
  });
}

test("'end' comes before 'close', also when both come at once", async (t) => {
  const server = await startServer(t);
  const events = [];
  const closed = new Promise((resolve) => {
    server.on('connection', (ws) => {
      ws._socket.on('end', () => events.push('end', ws.readyState));
      ws.on('close', (code) => resolve(events.push('close', code)));
      ws.on('message', () => ws.close());
    });
  });
  await answer(t, server, upgradeRequest() + MESSAGE);
  await closed;
  t.deepEqual(events, ['end', 2, 'close', 1006]);
});

test('terminate() in the turn of the end leaves nothing but the close', async (t) => {
  const server = await startServer(t);
  const opened = once(server, 'connection');
  const answered = answer(t, server, upgradeRequest() + MESSAGE);
  const [ws] = await opened;
  ws.on('message', () => setImmediate(() => ws.terminate()));
  const [code] = await once(ws, 'close');
  t.is(code, 1006);
  t.true((await answered).startsWith(SWITCHED));
});

test('an upgrade that is refused after the end is answered', async (t) => {
  const server = await startServer(t, { verifyClient: (info, done) => info.req.socket.once('end', () => done(false, 403)) });
  t.true((await answers(t, server)).startsWith('HTTP/1.1 403 Forbidden\r\n'));
});

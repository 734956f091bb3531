// pingInterval and idleTimeout, on every way in. Both together: close-cause.spec.mjs.
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

import { Child, ALL_WAYS as WAYS, askRaw, closeOf, connect, allWays as everyWay, ownOnly, rawPair, unlessStalled } from '../helpers/index.mjs';

const PING = '\x89\0';

/** The code of 'close' of the next connection, which may be over before the test has its turn. */
function nextClose(server) {
  return new Promise((resolve) => server.once('connection', (ws) => ws.once('close', resolve)));
}

/**
 * Opens a connection that a peer keeps open by being in time; returns the result of `act`, or the
 * code of 'close' if that event comes first.
 */
function inTime(t, server, act) {
  return unlessStalled(300, async () => {
    const pair = await connect(t, server);
    // After a stall, 'open' and 'close' come in one turn.
    if (pair.ws.readyState === pair.ws.CLOSED) return 1006;
    return Promise.race([act(pair), once(pair.ws, 'close').then(([code]) => code)]);
  });
}

// O04, R04.
for (const [options, frames] of [[{ pingInterval: 20 }, PING], [{ idleTimeout: 20 }, '']]) {
  everyWay(ownOnly, `${Object.keys(options)}: a silent peer is dropped, with ${frames.length / 2} pings`, async (t, start) => {
    const server = await start(t, options);
    const closed = nextClose(server);
    const raw = await askRaw(t, server.address().port);
    t.is((await raw.closed()).split('\r\n\r\n')[1], frames);
    t.is(await closed, 1006);
  });
}

everyWay(ownOnly, 'pingInterval: a peer that answers stays', async (t, start) => {
  const server = await start(t, { pingInterval: 600 });
  const seen = await inTime(t, server, async ({ ws, client }) => {
    const lengths = [];
    for (let i = 0; i < 2; i++) {
      const [[ping], [pong]] = await Promise.all([once(client, 'ping'), once(ws, 'pong')]);
      lengths.push(ping.length, pong.length);
    }
    return [ws.readyState, ...lengths];
  });
  t.deepEqual(seen, [1, 0, 0, 0, 0]);
});

everyWay(ownOnly, 'idleTimeout: every byte of the peer counts, who says anything is not pinged', async (t, start) => {
  const server = await start(t, { idleTimeout: 700, pingInterval: 1400 });
  const seen = await inTime(t, server, async ({ ws, client }) => {
    const begun = performance.now();
    let pings = 0;
    client.on('ping', () => pings++);
    // Goes on for longer than the timeouts.
    while (performance.now() - begun < 1600) {
      client.ping();
      await once(client, 'pong');
      await delay(5);
    }
    return { ws, pings };
  });
  t.is(seen.ws?.readyState, 1);
  t.is(seen.pings, 0);
  t.is((await closeOf(seen.ws))[0], 1006);
});

everyWay(ownOnly, 'a peer that is not read is not called silent, until it is', async (t, start) => {
  const server = await start(t, { idleTimeout: 500 });
  server.on('connection', (ws) => ws.pause());
  const seen = await inTime(t, server, async ({ ws }) => {
    await delay(1000);
    return { ws };
  });
  t.is(seen.ws?.readyState, 1);
  const closed = closeOf(seen.ws);
  seen.ws.resume();
  t.is((await closed)[0], 1006);
});

ownOnly('whoever waits for the answer to the handshake is not called silent', async (t) => {
  const server = await WAYS.port(t, { idleTimeout: 20 });
  server.once('connection', () => {
    for (const end = performance.now() + 100; performance.now() < end; );
  });
  const raw = await askRaw(t, server.address().port);
  t.true((await raw.closed()).startsWith('HTTP/1.1 101 '));
});

ownOnly('handshakeTimeout ends with the handshake', async (t) => {
  const server = await WAYS.port(t, { handshakeTimeout: 1000, pingInterval: 600 });
  const state = await inTime(t, server, async ({ ws, client }) => {
    for (let i = 0; i < 2; i++) await once(client, 'ping');
    return ws.readyState;
  });
  t.is(state, 1);
});

// Where the loop drives the reactor, it has no turn while a handler runs. With a thread: silence_model.rs.
for (const way of process.env.REACTOR_WS_REACTORS === '0' ? Object.keys(WAYS) : ['stream']) {
  ownOnly(`${way}: bytes that come while JavaScript is busy for longer than the timeout count`, async (t) => {
    const server = await WAYS[way](t, { idleTimeout: 2000 });
    server.once('connection', (ws) => ws.on('message', (data) => ws.send(`${data}!`)));
    const { client } = await connect(t, server);
    client.send('still there');
    for (const end = performance.now() + 2500; performance.now() < end; );
    t.is(String((await once(client, 'message'))[0]), 'still there!');
  });
}

/** A silent connection to a process in which nothing else happens. */
async function silent(t, way, options) {
  const child = new Child(t, 'silence.mjs', [way, JSON.stringify(options)]);
  const port = Number(await child.line());
  return async () => {
    const raw = await askRaw(t, port);
    await raw.closed();
  };
}

for (const options of [{ idleTimeout: 30 }, { pingInterval: 30 }]) {
  ownOnly(`silence ends a connection where nothing else happens: ${Object.keys(options)}`, async (t) => {
    const [ends, canary] = await Promise.all([silent(t, 'stream', options), silent(t, 'port', options)]);
    let isOver = false;
    const over = ends().then(() => (isOver = true));
    for (let round = 0; round < 50 && !isOver; round++) await canary();
    t.true(isOver);
    await over;
  });
}

ownOnly('the options are those of a server', async (t) => {
  const { ws, far } = rawPair({ isServer: false, idleTimeout: 10, pingInterval: 10 });
  await delay(60);
  t.is(ws.readyState, ws.OPEN);
  far.destroy();
  await closeOf(ws);
});

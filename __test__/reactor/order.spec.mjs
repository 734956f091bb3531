// Order between connections, with client and server in one process: the server has had each event
// of a connection before a client observes it. `ws` has one event loop; its client is the peer
// here, and the same tests run on its server with WS_IMPL=ws.
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';

import { openVisitor, urlOf, wsClient as WsClient } from '../helpers/clients.mjs';
import { isInline, isReference, isSpread, listenFree, startServer, test } from '../helpers/index.mjs';
import { upgradeRequest } from '../helpers/raw-client.mjs';
import { startServerBehind } from '../helpers/ways.mjs';
import { FEW, ROUNDS, SERVERS, listening, missed } from '../helpers/order.mjs';

const threadOnly = isReference || isInline ? test.skip : test;

async function emptied(server) {
  while (server.clients.size > 0) await new Promise(setImmediate);
}

/** The server hears of each end before its client does. */
async function endsInOrder(t, start, end) {
  const { server, heard, url } = await listening(t, start);
  for (let round = 1; round <= ROUNDS; round++) {
    const client = await openVisitor(t, url);
    client.on('error', () => {});
    end(client, ...server.clients);
    await new Promise((resolve) => {
      client.once('close', () => {
        t.deepEqual([heard.closes, server.clients.size], [round, 0]);
        resolve();
      });
    });
  }
}

for (const [way, start] of Object.entries(SERVERS)) {
  test(`${way}: 'open' comes after 'connection'`, async (t) => {
    const { server, heard, url } = await listening(t, start);
    for (let round = 1; round <= ROUNDS; round++) {
      const client = new WsClient(url);
      await new Promise((resolve) => {
        client.once('open', () => {
          t.deepEqual([heard.connections, server.clients.size], [round, 1]);
          resolve();
        });
      });
      client.terminate();
      await emptied(server);
    }
  });

  test(`${way}: a client does not wait for the handlers of later ones`, async (t) => {
    let handled = 0;
    const server = await start(t);
    server.on('connection', () => {
      handled++;
      for (const end = performance.now() + 4; performance.now() < end; );
    });
    // The number of handlers that had run when the first client was open; the reactor may have had
    // no processor meanwhile.
    const first = async () => {
      handled = 0;
      const clients = Array.from({ length: ROUNDS }, () => new WsClient(urlOf(server)));
      const seen = await Promise.race(clients.map((client) => once(client, 'open').then(() => handled)));
      await Promise.all(clients.map((client) => client.readyState === WsClient.OPEN || once(client, 'open')));
      for (const client of clients) client.terminate();
      await emptied(server);
      return seen;
    };
    let seen = ROUNDS;
    for (let tries = 0; tries < 5 && seen > ROUNDS / 2; tries++) seen = Math.min(seen, await first());
    t.true(seen <= ROUNDS / 2, `${seen} of ${ROUNDS}`);
  });

  // Not beside tests that keep this thread busy for longer than a delivery takes.
  test.serial(`${way}: 'close' of a client that closes comes after the server's`, (t) => endsInOrder(t, start, (client) => client.close()));
  test(`${way}: 'close' of a client that ends comes after the server's`, (t) => endsInOrder(t, start, (client) => client._socket.end()));
  test(`${way}: 'close' of a client that is terminated comes after the server's`, (t) => endsInOrder(t, start, (_client, ws) => ws.terminate()));
}

/**
 * An HTTP server that answers with the result of `answer`; returns a function that sends a request,
 * each time on a connection of its own.
 */
async function asking(t, answer) {
  const web = http.createServer((request, response) => response.end(String(answer())));
  await listenFree(t, web);
  return async () => {
    const [response] = await once(http.get({ port: web.address().port, agent: false }), 'response');
    return String(await response.toArray());
  };
}

test.serial('a client that has terminated is no client any more when the next one comes', async (t) => {
  const { server, url } = await listening(t, startServer);
  let before = await openVisitor(t, url);
  const count = await missed(t, server, async () => {
    before.terminate();
    before = new WsClient(url);
    await once(server, 'connection');
    const { size } = server.clients;
    await once(before, 'open');
    while (server.clients.size > 1) await new Promise(setImmediate);
    return size !== 1;
  });
  t.true(count <= FEW, `${count} of ${ROUNDS}`);
});

// Node looks the name up in a thread of its own, which is time enough for the end.
test.serial('a client that closes and opens another connection sees the end first', async (t) => {
  const { server, url } = await listening(t, startServer);
  const open = () => openVisitor(t, url.replace('127.0.0.1', 'localhost'));
  const count = await missed(t, server, async () => {
    const client = await open();
    let isOver = false;
    const closed = once(client, 'close').then(() => (isOver = true));
    client.close();
    const next = await open();
    const isLate = !isOver;
    await closed;
    next.terminate();
    await emptied(server);
    return isLate;
  });
  t.true(count <= FEW, `${count} of ${ROUNDS}`);
});

// Several reactors read at the same time.
(isSpread ? test.skip : test.serial)('server: clients that come at once are served in the order of their upgrades', async (t) => {
  const { server, url } = await listening(t, startServerBehind);
  for (let round = 0; round < 20; round++) {
    const orders = { upgrades: [], greeted: [], messages: [], answers: [] };
    const onConnection = (ws, { url: path }) => {
      orders.upgrades.push(path);
      ws.send('greeting');
      ws.on('message', (data) => orders[data].push(path));
    };
    server.on('connection', onConnection);
    const clients = Array.from({ length: 5 }, (_, index) => {
      const client = new WsClient(`${url}/${index}`);
      client.once('open', () => client.send('messages'));
      client.once('message', () => {
        orders.greeted.push(`/${index}`);
        client.send('answers');
      });
      return client;
    });
    while (orders.answers.length < clients.length) await nextTurn();
    for (const order of Object.values(orders)) t.deepEqual(order, orders.upgrades);
    // The next ones come while these end.
    for (const client of clients) client.close();
    server.off('connection', onConnection);
  }
});

for (const [way, start] of Object.entries(SERVERS)) {
  test.serial(`${way}: what a request sends leaves while its handler runs`, async (t) => {
    const { server, url } = await listening(t, start);
    const word = new Int32Array(new SharedArrayBuffer(4));
    const isHeard = [];
    const ask = await asking(t, () => {
      for (const ws of server.clients) ws.send('x');
      isHeard.push(Atomics.wait(word, 0, isHeard.length, 60_000) !== 'timed-out');
      return '';
    });
    const workerData = { port: new URL(url).port, request: upgradeRequest(), word };
    const worker = new Worker(HEARING, { eval: true, workerData });
    t.teardown(() => worker.terminate());
    await once(server, 'connection');
    await once(worker, 'message');
    for (let round = 0; round < 10; round++) await ask();
    t.deepEqual(isHeard, Array(10).fill(true));
  });
}

test.serial('peers that open and end in turn do not keep the messages of others waiting', async (t) => {
  const peers = 200;
  const server = await startServer(t);
  server.on('connection', (ws) => ws.on('message', (data) => ws.send(data)));
  const client = await openVisitor(t, urlOf(server));
  const { port } = server.address();
  const busyTurn = async () => {
    const end = performance.now() + 2;
    while (performance.now() < end);
    await nextTurn();
  };
  // The number of turns of the event loop until a message is answered.
  const answered = async () => {
    for (let peer = 0; peer < peers; peer++) {
      const socket = net.connect(port, '127.0.0.1', () => socket.end(upgradeRequest()));
      socket.on('error', () => {});
      socket.resume();
      t.teardown(() => socket.destroy());
      await busyTurn();
    }
    let isAnswered = false;
    client.once('message', () => (isAnswered = true));
    client.send('x');
    let turns = 0;
    for (; !isAnswered; turns++) await busyTurn();
    return turns;
  };
  // The reactor may have had no processor meanwhile.
  let turns = Infinity;
  for (let tries = 0; tries < 5 && turns >= peers / 4; tries++) turns = Math.min(turns, await answered());
  // As many again if each of them waits for the end of the one before.
  t.true(turns < peers / 4, `${turns} turns of the event loop`);
});

/** Requests an upgrade; after the answer each frame of one byte counts in the shared word. */
const HEARING = `
  const { parentPort, workerData } = require('node:worker_threads');
  const socket = require('node:net').connect(workerData.port, '127.0.0.1', () => socket.write(workerData.request));
  let text = '';
  socket.on('data', (data) => {
    if (text === '') parentPort.postMessage('open');
    text += data.toString('latin1');
    Atomics.store(workerData.word, 0, text.split('\\x81\\x01x').length - 1);
    Atomics.notify(workerData.word, 0);
  });
`;

/** Requests an upgrade, and sets the shared word when the answer is there. */
const ASKING = `
  const { parentPort, workerData } = require('node:worker_threads');
  const socket = require('node:net').connect(workerData.port, '127.0.0.1', () => socket.write(workerData.request));
  socket.once('data', (data) => {
    Atomics.store(workerData.word, 0, data.toString('latin1').startsWith('HTTP/1.1 101') ? 1 : 2);
    Atomics.notify(workerData.word, 0);
  });
  parentPort.once('message', () => socket.destroy());
`;

threadOnly('earlyHandshake: a handshake is answered while JavaScript is busy', async (t) => {
  const server = await startServer(t, { earlyHandshake: true });
  const connected = once(server, 'connection');
  const word = new Int32Array(new SharedArrayBuffer(4));
  const workerData = { port: server.address().port, request: upgradeRequest(), word };
  const worker = new Worker(ASKING, { eval: true, workerData });
  t.not(Atomics.wait(word, 0, 0, 60_000), 'timed-out');
  t.is(word[0], 1);
  worker.postMessage('done');
  await connected;
});

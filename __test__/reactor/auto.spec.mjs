// A reactor that the event loop and a thread share (`reactors: 'auto'`). Behaviour that does not depend on what drives it is
// tested by all the other files with REACTOR_WS_REACTORS=auto, and with REACTOR_WS_SWITCH=every-turn.
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

import { Child, WebSocket, connectMany, openVisitor, ownOnPosix, startServer } from '../helpers/index.mjs';
import { Pinger } from '../helpers/pinger.mjs';

process.env.REACTOR_WS_SWITCH = 'every-turn';

const CONNECTIONS = 8;
const MESSAGES = 300;
const EAGER = { env: { REACTOR_WS_SWITCH: 'every-turn' } };
const AT_EASE = { env: { REACTOR_WS_SWITCH: '' } };

ownOnPosix('with both drivers in turn nothing is lost, and all is in order', async (t) => {
  const server = await startServer(t, { reactors: 'auto' });
  const pairs = await connectMany(t, server, CONNECTIONS);
  const lengthOf = (number) => [4, 700, 20_000, 70_000][number % 4];
  await Promise.all(pairs.map(async ({ ws, client }) => {
    let [sent, pongs, next] = [0, 0, 0];
    ws.on('message', (data) => ws.send(data, () => sent++));
    client.on('pong', () => pongs++);
    const all = new Promise((resolve) => {
      client.on('message', (data) => {
        if (data.readUInt32LE(0) !== next || data.length !== lengthOf(next)) t.fail(`${data.readUInt32LE(0)} in place of ${next}`);
        if (++next === MESSAGES) resolve();
      });
    });
    for (let number = 0; number < MESSAGES; number++) {
      const message = Buffer.alloc(lengthOf(number));
      message.writeUInt32LE(number, 0);
      client.send(message);
      if (number % 10 === 0) client.ping();
      // Some come one by one, others together.
      if (number % 7 < 3) await delay(1);
    }
    await all;
    const closed = once(ws, 'close');
    client.close(4000, 'done');
    const [code, reason] = await closed;
    t.deepEqual([sent, pongs, code, String(reason)], [MESSAGES, MESSAGES / 10, 4000, 'done']);
  }));
  const { loop, switches, thread } = server.metrics().reactors.drive;
  t.true(switches > MESSAGES / 10 && loop > 0 && thread > 0);
});

ownOnPosix('the thread takes over while JavaScript is blocked, and gives back', async (t) => {
  const { client, drive, port } = await startAdaptive(t, [], AT_EASE);
  const pinger = await Pinger.connect(t, port, false);
  // To begin with, JavaScript is busy with its own start.
  const { switches } = await until(drive, ({ driver }) => driver === 'loop');
  const echo = once(client, 'message');
  client.send('block 1000');
  const pinging = setInterval(() => pinger.ping(), 10);
  await echo;
  clearInterval(pinging);
  t.true((await drive()).switches > switches);
  await until(drive, ({ driver }) => driver === 'loop');
});

ownOnPosix('after each change the loop goes on: with messages, and with deadlines of the thread', async (t) => {
  const { client, drive, port } = await startAdaptive(t, [], AT_EASE);
  const other = await openVisitor(t, `ws://127.0.0.1:${port}`);
  const answered = (one, text) => {
    one.send(text);
    return once(one, 'message');
  };
  // The loop can read both at once: then neither waits.
  for (let round = 0; round < 10 || (await drive()).switches === 0; round++) {
    await Promise.all([answered(client, 'block 20'), answered(other, 'block 20')]);
    // The thread still has the reactor, and the loop is idle.
    for (let count = 0; count < 10; count++) await answered(client, 'short');
    await until(drive, ({ driver }) => driver === 'loop');
  }
  const echo = answered(client, 'block 200');
  await delay(50);
  const silent = connect(port, '127.0.0.1').resume();
  await echo;
  await once(silent, 'close');
  t.pass();
});

ownOnPosix('the thread takes over from a handler that sends much with compression', async (t) => {
  const { client, drive, port } = await startAdaptive(t, [], AT_EASE);
  const pinger = await Pinger.connect(t, port, false);
  await until(drive, ({ driver }) => driver === 'loop');
  const pinging = setInterval(() => pinger.ping(), 1);
  client.send('compress');
  let text;
  do text = String((await once(client, 'message'))[0]);
  while (text.startsWith('0,'));
  clearInterval(pinging);
  t.is(text, 'taken over');
});

ownOnPosix('while a callback waits, deadlines are kept', async (t) => {
  const server = new Child(t, 'adaptive-blocked.mjs', [], AT_EASE);
  t.is(await server.line(0), '0');
});

// By then the thread sleeps, and no deadline wakes it.
for (const [title, word, turns] of [
  ['process.exit() in a handler: what was sent leaves', 'exit', EAGER],
  ['process.exit() while nothing happens', 'exit 1500', AT_EASE],
]) {
  ownOnPosix(title, async (t) => {
    const { client, server } = await startAdaptive(t, [], turns);
    const closed = once(client, 'close');
    client.send(word);
    t.is(String((await once(client, 'message'))[0]), 'bye');
    t.is((await closed)[0], 1006);
    t.like(await server.ended(), { code: 7, stderr: '' });
  });
}

ownOnPosix('a worker ends in the midst of it', async (t) => {
  const { client, port, server } = await startAdaptive(t, ['worker'], EAGER);
  const others = await Promise.all(Array.from({ length: 4 }, () => openVisitor(t, `ws://127.0.0.1:${port}`)));
  for (const other of others) {
    other.on('message', (data) => other.readyState === WebSocket.OPEN && other.send(data));
    other.send('on and on');
  }
  await delay(50);
  const closed = Promise.all([client, ...others].map((one) => once(one, 'close')));
  client.send('end');
  await closed;
  t.is(await server.line(1), 'ended');
});

async function until(look, isDone) {
  for (;;) {
    const seen = await look();
    if (isDone(seen)) return seen;
    await delay(20);
  }
}

async function startAdaptive(t, words, options) {
  const server = new Child(t, 'adaptive.mjs', words, options);
  const port = await server.line(0);
  const client = await openVisitor(t, `ws://127.0.0.1:${port}`);
  const drive = async () => {
    client.send('drive');
    return JSON.parse((await once(client, 'message'))[0]);
  };
  return { client, drive, port, server };
}

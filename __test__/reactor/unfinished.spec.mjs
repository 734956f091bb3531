// Messages that never end: their memory is bounded in total, and other messages get through.
import { once } from 'node:events';
import net from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

import { Child, MEASURED, ownOnly, upgradeRequest, wsClient } from '../helpers/index.mjs';

const MIB = 2 ** 20;
/** Milliseconds in which a message that does not go on becomes older than a new one. */
const OLD = 5100;
/** All of a message of 1 MiB but the last byte. */
const BODY = Buffer.alloc(MIB - 1);

async function startCrowded(t, budget, options = {}) {
  const server = new Child(t, 'crowded.mjs', [JSON.stringify({ unfinishedBudget: budget, ...options })], MEASURED);
  const port = await server.line(0);
  let asked = 0;
  const report = async () => {
    server.process.stdin.write('\n');
    return JSON.parse(await server.line(++asked));
  };
  await report();
  return { server, port, report };
}

/** Opens a connection and sends `bytes` of a message, whose length is in the last bytes of its head. */
async function begin(t, port, bytes, length = [0x10, 0, 0]) {
  const socket = net.connect({ port, host: '127.0.0.1' }).on('error', () => {});
  t.teardown(() => socket.destroy());
  socket.write(upgradeRequest());
  await once(socket, 'data');
  socket.write(Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0, ...length, 1, 2, 3, 4]));
  socket.write(BODY.subarray(0, bytes));
  return socket;
}

/** A client that must not lose its connection before the test has ended. */
async function client(t, port) {
  const ws = new wsClient(`ws://127.0.0.1:${port}`, { perMessageDeflate: false });
  const lost = (code) => t.fail(`closed with ${code}`);
  ws.on('close', lost);
  t.teardown(() => ws.off('close', lost).terminate());
  await once(ws, 'open');
  return ws;
}

/** The server's answer to one message. */
async function ask(ws, bytes) {
  ws.send(Buffer.alloc(bytes));
  const [data] = await once(ws, 'message');
  return Number(data);
}

// R14.
ownOnly('200 connections each send most of 1 MiB: 8 MiB are kept, small messages pass', async (t) => {
  const { server, port, report } = await startCrowded(t, 8 * MIB);
  const quiet = await client(t, port);
  await Promise.all(Array.from({ length: 200 }, () => begin(t, port, MIB - 1)));
  // When this message has come back fifty times, all have been read.
  for (let i = 0; i < 50; i++) t.is(await ask(quiet, 100), 100);
  const { grown, messages } = await report();
  t.log(`${(grown / MIB).toFixed(1)} MiB more for 200 connections`);
  // A quarter more with several reactors, and the memory of the allocator and the sockets.
  t.true(grown < 8 * 1.25 * MIB + 32 * MIB, `${grown / MIB} MiB`);
  t.is(messages, 50);
  // By then all that is left lying is older than the message that comes.
  await delay(OLD);
  t.is(await ask(quiet, MIB), MIB);
  quiet.removeAllListeners('close');
  server.process.stdin.end();
  t.like(await server.ended(), { code: 0, stderr: '' });
});

ownOnly('reactors share the budget: 9 uploads of 896 KiB fit 8 MiB, however the connections are spread', async (t) => {
  const { server, port, report } = await startCrowded(t, 8 * MIB, { reactors: 4 });
  const body = Buffer.alloc(896 * 1024);
  const sockets = [];
  for (let i = 0; i < 9; i++) sockets.push(await begin(t, port, 0, [0x0e, 0, 0]));
  for (const some of [sockets.slice(0, 4), sockets.slice(4)]) {
    for (let at = 1; at < body.length; at += 65536) {
      for (const socket of some) socket.write(body.subarray(at, at + 65536));
      await delay(10);
    }
  }
  const answers = sockets.map((socket) => once(socket, 'data'));
  // No client continues for a while.
  await delay(OLD);
  for (const socket of sockets) socket.write(body.subarray(0, 1));
  for (const [answer] of await Promise.all(answers)) t.is(answer.subarray(2).toString(), String(body.length));
  t.like(await report(), { messages: 9, errors: {} });
  server.process.stdin.end();
  t.like(await server.ended(), { code: 0, stderr: '' });
});

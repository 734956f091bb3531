// Messages that never end: their memory is bounded in total, and other messages get through.
import { once } from 'node:events';
import net from 'node:net';

import test from 'ava';

import { Child, MEASURED } from './helpers/child.mjs';
import { wsClient } from './helpers/clients.mjs';
import { isReference } from './helpers/impl.mjs';
import { upgradeRequest } from './helpers/raw-client.mjs';

const MIB = 2 ** 20;
const ownOnly = isReference ? test.serial.skip : test.serial;
/** The beginning of a frame of 1 MiB, and all of it but the last byte. */
const HEAD = Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0, 0x10, 0, 0, 1, 2, 3, 4]);
const BODY = Buffer.alloc(MIB - 1);

async function startCrowded(t, budget) {
  const server = new Child(t, 'crowded.mjs', [budget], MEASURED);
  const port = await server.line(0);
  let asked = 0;
  const report = async () => {
    server.process.stdin.write('\n');
    return JSON.parse(await server.line(++asked));
  };
  await report();
  return { server, port, report };
}

/** Opens a connection and sends `bytes` of a message. */
async function begin(t, port, bytes) {
  const socket = net.connect({ port, host: '127.0.0.1' }).on('error', () => {});
  t.teardown(() => socket.destroy());
  socket.write(upgradeRequest());
  await once(socket, 'data');
  socket.write(HEAD);
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
ownOnly('200 connections each send most of 1 MiB: 8 MiB and a little of each are kept, small messages pass', async (t) => {
  const { server, port, report } = await startCrowded(t, 8 * MIB);
  const quiet = await client(t, port);
  const sockets = await Promise.all(Array.from({ length: 200 }, () => begin(t, port, MIB - 1)));
  // All are read in turn; when this message has come back fifty times, all have been read.
  for (let i = 0; i < 50; i++) t.is(await ask(quiet, 100), 100);
  const { grown, messages } = await report();
  t.log(`${(grown / MIB).toFixed(1)} MiB more for 200 connections`);
  // A quarter more, one message, 16 KiB of each connection, and the memory of the allocator and the
  // sockets.
  t.true(grown < 8 * 1.25 * MIB + MIB + 200 * 16 * 1024 + 32 * MIB, `${grown / MIB} MiB`);
  t.is(messages, 50);
  for (const socket of sockets) socket.destroy();
  t.is(await ask(quiet, MIB), MIB);
  quiet.removeAllListeners('close');
  server.process.stdin.end();
  t.like(await server.ended(), { code: 0, stderr: '' });
});

// F13.
ownOnly('large messages pass beside those that are left lying, which are given up with 1013', async (t) => {
  const { server, port, report } = await startCrowded(t, 4 * MIB);
  // Each is in one read, and the last one is too much.
  const sockets = [];
  for (let i = 0; i < 70; i++) sockets.push(await begin(t, port, 60_000));
  const closed = once(sockets[0], 'data');
  const all = await Promise.all(Array.from({ length: 10 }, () => client(t, port)));
  t.deepEqual(await Promise.all(all.map((ws) => ask(ws, 3 * MIB))), all.map(() => 3 * MIB));
  const busy = new AbortController();
  const keepOn = all.map(async (ws) => {
    while (!busy.signal.aborted) await ask(ws, 3 * MIB);
  });
  t.is((await closed)[0].toString('hex'), '880203f5');
  busy.abort();
  await Promise.all(keepOn);
  for (const ws of all) ws.removeAllListeners('close');
  const { errors } = await report();
  t.deepEqual(Object.keys(errors), ['WS_ERR_UNFINISHED_MESSAGE']);
  server.process.stdin.end();
  t.like(await server.ended(), { code: 0, stderr: '' });
});

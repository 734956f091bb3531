// Faults that concern no other file: pages of other sites, a text that is too long, many idle
// clients, signals, a network that fails, a process that gets hardly any CPU time.
import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { freemem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { Child, MEASURED } from '../helpers/child.mjs';
import { WAYS, askRaw, nextEvents, openPair, openVisitor, ownOnLinuxSerial, ownSerial, test, upgradeRequest } from '../helpers/index.mjs';

const MIB = 2 ** 20;

/** The status line of the answer to a request. */
async function statusOf(t, server, fields) {
  const raw = await askRaw(t, server.address?.()?.port ?? server.port, upgradeRequest(fields));
  return (await raw.until((text) => text.includes('\r\n\r\n'))).split('\r\n')[0];
}

for (const [name, start] of Object.entries(WAYS)) {
  test(`H16 ${name}: a page of any origin connects, unless verifyClient says no`, async (t) => {
    const open = await start(t);
    const seen = nextEvents(open, 'connection', 5);
    const origins = [null, 'null', 'https://elsewhere.example', ['https://a.example', 'https://b.example'], '\xe9'];
    for (const Origin of origins) t.is(await statusOf(t, open, { Origin }), 'HTTP/1.1 101 Switching Protocols');
    const received = (await seen).map(([, request]) => request.headers.origin);
    t.deepEqual(received, [undefined, 'null', 'https://elsewhere.example', 'https://a.example, https://b.example', '\xe9']);
    const strict = await start(t, { verifyClient: ({ origin }) => origin === 'https://here.example' });
    const of = (Origin) => statusOf(t, strict, { Origin });
    t.is(await of('https://here.example'), 'HTTP/1.1 101 Switching Protocols');
    for (const Origin of origins) t.is(await of(Origin), 'HTTP/1.1 401 Unauthorized');
  });
}

// F21.
ownSerial('a text that is longer than a string can be is a Buffer like any other', async (t) => {
  const length = 600 * MIB;
  if (freemem() < 4 * length) return t.pass('too little memory for it');
  const { ws, client } = await openPair(t, { maxPayload: 0 });
  const message = once(ws, 'message');
  const head = Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0x25, 0x80, 0, 0, 0, 0, 0, 0]);
  client._socket.write(head);
  const piece = Buffer.alloc(MIB, 'x');
  for (let sent = 0; sent < length; sent += MIB) {
    if (!client._socket.write(piece)) await once(client._socket, 'drain');
  }
  const [data, isBinary] = await message;
  t.false(isBinary);
  t.is(data.length, length);
  t.true(data.subarray(-MIB).equals(piece));
  t.throws(() => data.toString(), { code: 'ERR_STRING_TOO_LONG' });
  ws.send('still there');
  t.is(String((await once(client, 'message'))[0]), 'still there');
});

// R09.
ownOnLinuxSerial('2000 connections that do nothing take little, no threads, and no more with time', async (t) => {
  const server = new Child(t, 'crowded.mjs', [0], MEASURED);
  const port = await server.line(0);
  const canary = await openVisitor(t, `ws://127.0.0.1:${port}`, { perMessageDeflate: false });
  let line = 0;
  const grown = async () => {
    server.process.stdin.write('\n');
    return JSON.parse(await server.line(++line)).grown / 2000;
  };
  const echo = async () => {
    for (let i = 0; i < 1000; i++) {
      canary.send('x');
      await once(canary, 'message');
    }
  };
  const threads = () => readdirSync(`/proc/${server.process.pid}/task`).length;
  await echo();
  const before = threads();
  await grown();
  for (let i = 0; i < 2000; i += 100) {
    const open = async () => {
      const raw = await askRaw(t, port);
      await raw.until((text) => text.includes('\r\n\r\n'));
    };
    await Promise.all(Array.from({ length: 100 }, open));
  }
  const each = await grown();
  await echo();
  const later = await grown();
  t.log(`${each.toFixed(0)} bytes each, ${later.toFixed(0)} more after a thousand echoes of another`);
  t.true(each < 16 * 1024 && later < 4 * 1024, `${each}, ${later}`);
  t.is(threads(), before);
  canary.terminate();
  server.process.stdin.end();
  t.like(await server.ended(), { code: 0, stderr: '' });
});

// O12.
ownOnLinuxSerial('the network goes down and comes back: connections and the listener go on', async (t) => {
  const namespace = ['unshare', '--net', '--map-root-user'];
  if (spawnSync(namespace[0], [...namespace.slice(1), 'ip', 'link', 'set', 'lo', 'up']).status !== 0) {
    return t.pass('needs the right to make a network namespace, and ip');
  }
  const fixture = fileURLToPath(new URL('../fixtures/squeezed.mjs', import.meta.url));
  const words = [...namespace.slice(1), process.execPath, fixture];
  const { stdout, stderr } = await promisify(execFile)(namespace[0], words, { timeout: 60_000 });
  t.deepEqual([stdout, stderr], ['while it is down\na new one comes in\n', '']);
});

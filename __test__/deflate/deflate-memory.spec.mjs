// The memory of permessage-deflate, and its bounds. tests/deflate_memory.rs has the formula.
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';

import { Child, MEASURED, WebSocketServer, connect, openVisitor, startServer, test } from '../helpers/index.mjs';

const MIB = 2 ** 20;
const CONNECTIONS = 150;
/** The figures of docs/compression.md: both contexts of a connection with the defaults, in KiB. */
const CONTEXTS = 48 + 372;

const options = (perMessageDeflate) => new WebSocketServer({ noServer: true, perMessageDeflate }).options;

test('compressor: shared is no context takeover on both sides', async (t) => {
  const server = await startServer(t, { perMessageDeflate: { compressor: 'shared', threshold: 0 } });
  server.on('connection', (ws) => ws.on('message', (data) => ws.send(data)));
  const { client } = await connect(t, server);
  const { params } = client._extensions['permessage-deflate'];
  t.true(params.server_no_context_takeover && params.client_no_context_takeover);
  for (const text of ['', 'once', 'once', 'x'.repeat(100_000)]) {
    client.send(text);
    const [data] = await once(client, 'message');
    t.is(data.toString(), text);
  }
});

test('compressor: what it may be', (t) => {
  t.true(options({ compressor: 'shared' }).perMessageDeflate.clientNoContextTakeover);
  t.is(options({ compressor: 'dedicated' }).perMessageDeflate.clientNoContextTakeover, undefined);
  for (const compressor of ['own', 1, true]) {
    t.throws(() => options({ compressor }), { instanceOf: TypeError, message: /'dedicated' or 'shared'/ });
  }
  for (const name of ['serverNoContextTakeover', 'clientNoContextTakeover']) {
    t.throws(() => options({ compressor: 'shared', [name]: false }), { instanceOf: TypeError });
  }
});

test('budget: what it may be', (t) => {
  for (const budget of ['1', true, {}]) t.throws(() => options({ budget }), { instanceOf: TypeError });
  for (const budget of [-1, 0.5, NaN, Infinity]) t.throws(() => options({ budget }), { instanceOf: RangeError });
  t.notThrows(() => options({ budget: 64 * MIB }));
});

/** A server in a process of its own, with connections that have each had an echo of `bytes`. */
async function used(t, perMessageDeflate, connections, bytes) {
  const child = new Child(t, 'compressing.mjs', [JSON.stringify(perMessageDeflate)], MEASURED);
  const port = Number(await child.line(0));
  let line = 0;
  const rss = async () => {
    child.process.stdin.write('\n');
    return Number(await child.line(++line));
  };
  const data = Buffer.alloc(bytes, 'compressible ');
  const open = async () => {
    const client = await openVisitor(t, `ws://127.0.0.1:${port}`);
    return client;
  };
  const echo = async (client) => {
    client.send(data);
    t.is((await once(client, 'message'))[0].length, bytes);
  };
  // The memory of the first messages stays for the others.
  await echo(await open());
  const clients = [];
  for (let n = 0; n < connections; n++) clients.push(await open());
  const before = await rss();
  for (const client of clients) await echo(client);
  return { before, rss };
}

test('z07: contexts take what the formula says, and no more than the budget', async (t) => {
  const deflate = { threshold: 0, budget: 256 * MIB };
  const { before, rss } = await used(t, deflate, CONNECTIONS, 3000);
  const each = ((await rss()) - before) / CONNECTIONS / 1024;
  // Not all of a context is written to.
  t.true(each > CONTEXTS / 2 && each < CONTEXTS * 1.1 + 8, `${each} KiB each`);

  const small = await used(t, { threshold: 0, budget: 4 * MIB }, CONNECTIONS, 3000);
  const grown = (await small.rss()) - small.before;
  t.true(grown < 8 * MIB + CONNECTIONS * 8 * 1024, `${grown} B with a budget of 4 MiB for each direction`);
});

test('releaseAfter: the memory goes back', async (t) => {
  const { before, rss } = await used(t, { threshold: 0, budget: 256 * MIB, releaseAfter: 1500 }, CONNECTIONS, 3000);
  // The deadline is that of the test: memory that is never given back makes it wait until then.
  while ((await rss()) - before > (CONNECTIONS * CONTEXTS * 1024) / 4);
  t.pass();
});

test('z09: idle after a long message each, connections keep nothing of it', async (t) => {
  const { before, rss } = await used(t, { compressor: 'shared', threshold: 0 }, 100, 4 * MIB);
  while ((await rss()) - before > 48 * MIB);
  t.pass();
});

const hasGlibc = process.report?.getReport().header.glibcVersionRuntime !== undefined;

(hasGlibc ? test.serial : test.serial.skip)('what contexts took goes back to the system when most have left', async (t) => {
  // As users run it: the allocator of this child has no settings.
  const { nodeArgs, stdio } = MEASURED;
  const child = new Child(t, 'compressing.mjs', [JSON.stringify({ threshold: 0 })], { nodeArgs, stdio });
  const port = await child.line(0);
  let line = 0;
  const resident = async () => {
    child.process.stdin.write('\n');
    return Number(await child.line(++line)) / MIB;
  };
  const open = async () => {
    const client = await openVisitor(t, `ws://127.0.0.1:${port}`, { perMessageDeflate: { threshold: 0 } });
    client.send('hello '.repeat(5000));
    await once(client, 'message');
    return client;
  };
  // glibc takes no block from the system of a length of which one has been given back.
  (await open()).terminate();
  const first = await open();
  const before = await resident();
  const clients = [];
  for (let i = 0; i < CONNECTIONS; i++) clients.push(await open());
  const peak = await resident();
  t.true(peak - before > 30, `${peak} after ${before}`);
  // The last connection is among them: a heap shrinks at its end only.
  for (const client of clients.slice(0, -1)) client.terminate();
  let after = Infinity;
  for (let look = 0; look < 100 && after - before > (peak - before) / 3; look++) {
    await setTimeout(100);
    after = await resident();
  }
  t.log(`${before.toFixed()} MiB, ${peak.toFixed()} with contexts, ${after.toFixed()} after them`);
  t.true(after - before <= (peak - before) / 3);
  t.is(first.readyState, first.OPEN);
});

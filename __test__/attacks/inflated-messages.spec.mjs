// Endless messages of which a few bytes become millions: they are charged before they are inflated.
import { Attacked, attack, echoes } from '../helpers/canary.mjs';
import { MEASURED, ownSerial } from '../helpers/index.mjs';

const MIB = 2 ** 20;
const CONNECTIONS = 150;
const INFLATED = 8 * MIB;
const BUDGET = 64 * MIB;
/**
 * A quarter more, one message, 16 KiB of each connection; contexts of 48 KiB, and the memory of the
 * allocator and the sockets.
 */
const BOUND = 1.25 * BUDGET + INFLATED + CONNECTIONS * 64 * 1024 + 48 * MIB;

ownSerial('150 x 8 KiB that become 8 MiB', async (t) => {
  const options = { perMessageDeflate: true, unfinishedBudget: BUDGET };
  const server = await Attacked.start(t, 0, options, MEASURED);
  const before = (await server.report()).rss;
  await attack(t, server.port, 'inflate', CONNECTIONS, INFLATED);
  // All are read in turn: when another client has been answered fifty times, all have been read.
  const times = await echoes(t, server.port, { times: 50, interval: 10, patience: 180_000 });
  t.true(times.every((time) => time < 20_000));
  const grown = (await server.report()).rss - before;
  t.log(`${(grown / MIB).toFixed(0)} MiB more`);
  t.true(grown < BOUND, `${grown / MIB} MiB`);
});

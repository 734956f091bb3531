// Beginnings of compressed messages, a few bytes each: the contexts that they would need share the
// budget of those that are kept.
import { Attacked, attack, echoes, figures } from '../helpers/canary.mjs';
import { MEASURED, isReference, test } from '../helpers/index.mjs';

const MIB = 2 ** 20;
const CONNECTIONS = 2000;
const BUDGET = MIB;
/** Bytes of a connection beside a context: its objects, the beginning of its message, and TLS. */
const EACH = (process.env.ATTACK_TLS === '1' ? 5 + 12 : 5) * 1024;
const PATIENCE = 180_000;

for (const plain of [21, 20_000]) {
  test.serial(`${CONNECTIONS} beginnings of a message of ${plain} bytes, compressed`, async (t) => {
    const options = { perMessageDeflate: { budget: BUDGET, clientNoContextTakeover: true } };
    const server = await Attacked.start(t, 0, options, MEASURED);
    await attack(t, server.port, 'inflate', 100, plain);
    const before = (await server.report()).rss;
    await attack(t, server.port, 'inflate', CONNECTIONS, plain);
    const times = await echoes(t, server.port, { times: 50, interval: 10, patience: PATIENCE });
    const grown = (await server.report()).rss - before;
    t.log(`${(grown / MIB).toFixed(1)} MiB more, ${Math.round(grown / CONNECTIONS)} bytes each; echoes: ${figures(times)}`);
    t.true(times.every((time) => time < PATIENCE));
    if (!isReference) t.true(grown < 2 * BUDGET + CONNECTIONS * EACH, `${grown / MIB} MiB`);
  });
}

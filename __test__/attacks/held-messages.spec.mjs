// Messages that never end, and one connection that floods: others are accepted and served.
import test from 'ava';

import { Attacked, attack, figures, newcomers } from '../helpers/canary.mjs';

const MIB = 2 ** 20;
/** `maxPayload` allows it. */
const HELD = 70 * MIB;
/** The time that a message takes the server, in microseconds. */
const WORK = 2;
const PATIENCE = 180_000;

for (const holders of [1, 2]) {
  test.serial(`${holders} x 70 MiB of a message that does not end, and a flood`, async (t) => {
    const server = await Attacked.start(t, WORK);
    await attack(t, server.port, 'hold', holders, HELD);
    await attack(t, server.port, 'flood', 1, 1);
    const ask = { times: 12, interval: 100, patience: PATIENCE };
    const [small, uploads] = await Promise.all([
      newcomers(t, server.port, ask),
      newcomers(t, server.port, { ...ask, bytes: 100 * 1024 }),
    ]);
    t.log(`newcomers: ${figures(small)}; uploads of 100 KiB: ${figures(uploads)}`);
    t.true([...small, ...uploads].every((time) => time < PATIENCE));
    t.like(await server.report(), { errors: {} });
  });
}

// Messages that never end fill the budget for them, and more waits in the attackers' sockets:
// uploads of other connections pass all the same.
import test from 'ava';

import { Attacked, attack, figures, newcomers } from '../helpers/canary.mjs';

const MIB = 2 ** 20;
const BUDGET = 32 * MIB;
const HELD = 4 * MIB;
const PATIENCE = 20_000;

for (const reactors of [0, 1, 3]) {
  for (const holders of [64, 100, 200]) {
    test.serial(`uploads beside ${holders} that hold all there is, reactors: ${reactors}`, async (t) => {
      const server = await Attacked.start(t, 0, { reactors, unfinishedBudget: BUDGET });
      await attack(t, server.port, 'hold', holders, HELD);
      const times = await newcomers(t, server.port, { times: 10, interval: 200, patience: PATIENCE, bytes: 40_000 });
      t.log(`uploads of 40 kB: ${figures(times)}`);
      t.true(times.every((time) => time < PATIENCE));
      const { errors } = await server.report();
      t.true(Object.keys(errors).every((code) => code === 'WS_ERR_UNFINISHED_MESSAGE'));
    });
  }
}

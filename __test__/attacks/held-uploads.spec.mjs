// Messages that never end fill the budget for them, and more waits in the attackers' sockets:
// uploads of other connections pass all the same.
import { setTimeout as delay } from 'node:timers/promises';

import { Attacked, attack, figures, newcomers } from '../helpers/canary.mjs';
import { askRaw, test, unlessStalled, upgradeRequest } from '../helpers/index.mjs';

const MIB = 2 ** 20;
const BUDGET = 32 * MIB;
const HELD = 4 * MIB;
const PATIENCE = 20_000;
const SLOW_UPLOAD = 60_000;
/** Milliseconds in which a client sends nothing, in the middle of its upload. */
const PAUSE = 1500;

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

/** Sends 15,000 bytes a second: after a stall of this process, those that are due. */
async function sendSlowly(raw, length) {
  const begun = performance.now();
  for (let sent = 0; sent < length; await delay(100)) {
    const due = Math.min(1500 * (1 + Math.floor((performance.now() - begun) / 100)), length);
    raw.send(Buffer.alloc(due - sent));
    sent = due;
  }
}

/** Whether a message is taken that is slow, and pauses: it takes 5.5 s. */
async function uploadSlowly(t, port) {
  const raw = await askRaw(t, port, upgradeRequest({ line: 'GET /ask HTTP/1.1' }));
  await raw.until((text) => text.includes('\r\n\r\n'));
  const ended = raw.untilClosedOr((text) => text.endsWith(String(SLOW_UPLOAD)));
  raw.send(Buffer.from([0x82, 0xfe, SLOW_UPLOAD >> 8, SLOW_UPLOAD & 0xff, 0, 0, 0, 0]));
  await sendSlowly(raw, SLOW_UPLOAD / 2);
  await delay(PAUSE);
  await sendSlowly(raw, SLOW_UPLOAD / 2);
  return (await ended).endsWith(String(SLOW_UPLOAD));
}

for (const reactors of [0, 1, 3]) {
  test.serial(`slow uploads that pause beside 20 that begin 4 MiB again every 100 ms, reactors: ${reactors}`, async (t) => {
    const server = await Attacked.start(t, 0, { reactors, unfinishedBudget: BUDGET });
    await attack(t, server.port, 'renew', 20, HELD);
    while (Object.keys((await server.report()).errors).length === 0) await delay(50);
    const uploads = await unlessStalled(2000, () => Promise.all(Array.from({ length: 10 }, () => uploadSlowly(t, server.port))));
    t.true(uploads.every(Boolean), `${uploads.filter(Boolean).length} of 10`);
  });
}

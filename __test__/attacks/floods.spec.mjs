// Many connections that send as many short messages as they can, to a handler that takes its time.
import test from 'ava';

import { Attacked, attack, echoes, figures } from '../helpers/canary.mjs';

const FLOODS = 20;
/** The time that a message takes the server, in microseconds. */
const WORK = 10;
/** A second for us, more on a busy machine. All undelivered messages would be minutes of work. */
const PATIENCE = 180_000;

test.serial('20 floods of 1-byte messages, and one that says little', async (t) => {
  const server = await Attacked.start(t, WORK);
  await attack(t, server.port, 'flood', FLOODS, 1);
  const [{ messages }, times] = await Promise.all([
    server.rates(2000),
    echoes(t, server.port, { times: 20, interval: 50, patience: PATIENCE }),
  ]);
  t.log(`${messages.toFixed(0)} messages a second; echoes: ${figures(times)}`);
  t.true(times.every((time) => time < PATIENCE));
  t.like(await server.report(), { errors: {} });
});

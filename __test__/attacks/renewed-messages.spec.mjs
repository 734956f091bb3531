// Many connections that each complete a message and begin the next at once: none of them has much
// memory, all together have much.
import { execSync } from 'node:child_process';

import test from 'ava';

import { Attacked, attack, figures, newcomers } from '../helpers/canary.mjs';

const CONNECTIONS = 5500;
/** Just below the bytes that every connection may keep. */
const BYTES = 15_500;
const PER_SECOND = 12_000;
const PATIENCE = 180_000;

function descriptors() {
  const limit = process.platform === 'win32' ? 'unlimited' : execSync('ulimit -n', { shell: '/bin/sh' }).toString().trim();
  return limit === 'unlimited' ? Infinity : Number(limit);
}

test.serial('messages of 15.5 kB that are completed and begun again', async (t) => {
  if (descriptors() < CONNECTIONS + 500) return t.pass('needs a descriptor for each connection');
  const server = await Attacked.start(t);
  await attack(t, server.port, 'churn', CONNECTIONS, BYTES, PER_SECOND);
  const [{ cpu, messages }, times] = await Promise.all([
    server.rates(2000),
    newcomers(t, server.port, { times: 20, interval: 100, patience: PATIENCE }),
  ]);
  t.log(`${messages.toFixed(0)} messages a second with ${(cpu * 100).toFixed(0)} % CPU; newcomers: ${figures(times)}`);
  t.true(times.every((time) => time < PATIENCE));
  t.like(await server.report(), { errors: {} });
});

// Redis between the nodes: what every adapter must do, with each package.
import test from 'ava';

import conformance from '../../lib/adapters/adapter-test.js';
import redis from '../../lib/adapters/redis.js';
import { CLIENTS, RedisServer, hasRedis } from '../helpers/redis.mjs';

const when = hasRedis ? test : test.skip;

/** The package `redis` rejects commands that it has not written for 5 s: so long a busy machine can keep this process. */
const PATIENT = { commandOptions: { timeout: 60_000 } };

for (const [name, connect] of Object.entries(CLIENTS)) {
  const cases = conformance.adapterTests(() => null, { history: true }).length;
  for (let index = 0; index < cases; index++) {
    const title = conformance.adapterTests(() => null, { history: true })[index].name;
    when(`${name}: ${title}`, async (t) => {
      const server = await RedisServer.start(t);
      const client = await connect(t, server, PATIENT);
      const [one] = conformance.adapterTests(() => redis.redisAdapter({ client }), { history: true }).slice(index);
      await one.run();
      t.pass();
    });
  }
}

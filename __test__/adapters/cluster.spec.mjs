// Nodes of one machine without a broker.
import { randomBytes } from 'node:crypto';

import test from 'ava';

import conformance from '../../lib/adapters/conformance.js';
import cluster from '../../lib/adapters/cluster.js';

const name = randomBytes(6).toString('hex');

for (const { name: title, run } of conformance.adapterTests(() => cluster.clusterAdapter({ name }))) {
  test(title, async (t) => {
    await run();
    t.pass();
  });
}

// Adapters for servers in several processes: `kind`, and where the broker is.
import { connect } from '@nats-io/transport-node';
import { Redis } from 'ioredis';
import { createClient } from 'redis';

import cluster from '../../lib/adapters/cluster.js';
import nats from '../../lib/adapters/nats.js';
import redis from '../../lib/adapters/redis.js';

const ADAPTERS = {
  async redis(path) {
    const client = createClient({ socket: { path, reconnectStrategy: 50 } });
    client.on('error', () => {});
    await client.connect();
    return [redis.redisAdapter({ client }), () => client.destroy()];
  },
  async ioredis(path) {
    const client = new Redis({ path });
    client.on('error', () => {});
    return [redis.redisAdapter({ client }), () => client.disconnect()];
  },
  async nats(servers) {
    const connection = await connect({ servers, reconnectTimeWait: 50, maxReconnectAttempts: -1 });
    return [nats.natsAdapter({ connection }), () => connection.close()];
  },
  cluster: async (name) => [cluster.clusterAdapter({ name }), () => {}],
};

/** The adapter, and what ends its client. */
export function adapterTo({ kind, place }) {
  return ADAPTERS[kind](place);
}

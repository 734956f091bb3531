// Servers that are nodes of one application, in this process.
import { once } from 'node:events';

import { randomBytes } from 'node:crypto';

import cluster from '../../lib/adapters/cluster.js';
import nats from '../../lib/adapters/nats.js';
import redis from '../../lib/adapters/redis.js';
import { startServer } from './impl.mjs';
import { Broker } from './memory-broker.mjs';
import { NatsServer, hasNats } from './nats.mjs';
import { CLIENTS, RedisServer, hasRedis } from './redis.mjs';
import { join } from './topics.mjs';

/** Ways to connect nodes: each makes a function that makes adapters. Those without a broker to run are left out. */
export const BROKERS = {
  memory: async () => {
    const broker = new Broker();
    return () => broker.adapter();
  },
  ...(hasRedis && {
    redis: (t) => overRedis(t, 'redis'),
    ioredis: (t) => overRedis(t, 'ioredis'),
  }),
};

/** Those without a history. */
export const BRIEF = {
  'memory without history': async () => {
    const broker = new Broker({ history: false });
    return () => broker.adapter();
  },
  cluster: async () => {
    const name = randomBytes(6).toString('hex');
    return () => cluster.clusterAdapter({ name });
  },
  ...(hasNats && {
    nats: async (t) => {
      const server = await NatsServer.start(t);
      const connection = await server.connect(t);
      return () => nats.natsAdapter({ connection });
    },
  }),
};

async function overRedis(t, name) {
  const server = await RedisServer.start(t);
  const client = await CLIENTS[name](t, server);
  return () => redis.redisAdapter({ client });
}

/** A server that has its broker, with `count` members. */
export async function openNode(t, adapter, count = 1, options = {}) {
  const server = await startServer(t, { adapter, ...options });
  while (server.metrics().adapter.state !== 'connected') await once(server, 'adapter');
  const members = [];
  for (let n = 0; n < count; n++) members.push(await join(t, server));
  return { server, members };
}

export const subscribe = (ws, topic, options) => new Promise((resolve) => ws.subscribe(topic, options, resolve));

/** Resolves when a member's client has heard the text. */
export async function hears({ client, heard }, text) {
  while (!heard.includes(text)) await once(client, 'message');
}

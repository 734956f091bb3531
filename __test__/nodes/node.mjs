// A node of the model: commands come from its clients. Arguments: the kind of adapter, and where the broker is.
import { Redis } from 'ioredis';
import { connect } from '@nats-io/transport-node';
import { createClient } from 'redis';

import cluster from '../../lib/adapters/cluster.js';
import nats from '../../lib/adapters/nats.js';
import redis from '../../lib/adapters/redis.js';
import { WebSocketServer } from '../../lib/index.mjs';

const [kind, place] = process.argv.slice(2);

const ADAPTERS = {
  async redis() {
    const client = createClient({ socket: { path: place, reconnectStrategy: 50 } });
    client.on('error', () => {});
    await client.connect();
    return redis.redisAdapter({ client });
  },
  async ioredis() {
    const client = new Redis({ path: place, retryStrategy: () => 50, maxRetriesPerRequest: null });
    client.on('error', () => {});
    return redis.redisAdapter({ client });
  },
  nats: async () => nats.natsAdapter({ connection: await connect({ servers: place, reconnectTimeWait: 50, maxReconnectAttempts: -1 }) }),
  cluster: async () => cluster.clusterAdapter({ name: place }),
};

const isShared = kind.endsWith('redis');
/** All histories fit in the memory of a node: it cannot send others again. */
const HISTORY = 10_000;
ADAPTERS['file-redis'] = ADAPTERS.redis;
const server = new WebSocketServer({
  port: 0,
  host: '127.0.0.1',
  adapter: await ADAPTERS[kind](),
  topicOptions: (topic) => (isShared ? { history: HISTORY, slow: topic.length % 2 ? 'catch-up' : 'queue', limit: 65_536 } : {}),
});

// Messages have a line with their position.
if (isShared) server.topicsProtocol({ authorize: () => false });

server.on('connection', (ws) => {
  const tell = (news) => ws.readyState === ws.OPEN && ws.send(JSON.stringify(news));
  const commands = {
    subscribe: ({ asked, topic, since }) => ws.subscribe(topic, { since }, ({ position, recovered }) => tell({ asked, subscribed: topic, recovered, position })),
    unsubscribe({ topic }) {
      ws.unsubscribe(topic);
      tell({ unsubscribed: topic });
    },
    publish({ topic, text }) {
      const data = JSON.stringify({ topic, text });
      const receipt = server.publish(topic, data, { receipt: true });
      receipt.then(({ position }) => tell({ published: text, position }), (error) => tell({ refused: text, why: error.message }));
    },
  };
  ws.on('error', () => {});
  ws.on('gap', (topic, from, to) => tell({ gap: topic, from, to }));
  ws.on('message', (data) => {
    const command = JSON.parse(data);
    commands[command.do](command);
  });
});

while (server.metrics().adapter.state !== 'connected') await new Promise((resolve) => server.once('adapter', resolve));
console.log(server.address().port);

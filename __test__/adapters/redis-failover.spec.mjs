// A master that is killed, in a cluster and with Sentinels, while two nodes publish. What had not reached the replica is lost, even if
// it was confirmed: subscribers may lack only what they are told of.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

import test from 'ava';
import { Cluster, Redis } from 'ioredis';
import { createCluster, createSentinel } from 'redis';

import redis from '../../lib/adapters/redis.js';
import { openNode, subscribe } from '../helpers/nodes.mjs';
import { OWN_HOST } from '../helpers/own-host.mjs';
import { hasRedis, isInstalled } from '../helpers/redis.mjs';
import { RedisCluster, RedisSentinels } from '../helpers/redis-cluster.mjs';

const when = hasRedis && isInstalled('redis-cli') ? test.serial : test.skip;
const KEPT = { topicOptions: () => ({ history: 100_000 }) };
const TOPICS = ['topic', 'other', 'third', 'fourth', 'fifth'];
const host = OWN_HOST;
const PATIENCE = 180_000;

/** Each with the place in which clients find the nodes. */
const CLIENTS = {
  cluster: {
    async redis(t, { nodes }) {
      const client = createCluster({ rootNodes: nodes.map((port) => ({ url: `redis://${host}:${port}` })), defaults: { socket: { reconnectStrategy: 50 } } });
      client.on('error', () => {});
      await client.connect();
      t.teardown(() => client.destroy());
      return client;
    },
    async ioredis(t, { nodes }) {
      const client = new Cluster(nodes.map((port) => ({ host, port })), { clusterRetryStrategy: () => 50, retryDelayOnClusterDown: 50, redisOptions: { maxRetriesPerRequest: null } });
      client.on('error', () => {});
      await once(client, 'ready');
      t.teardown(() => client.disconnect());
      return client;
    },
  },
  sentinels: {
    async redis(t, { sentinels }) {
      const client = createSentinel({ name: 'main', sentinelRootNodes: sentinels.map((port) => ({ host, port })), scanInterval: 200 });
      client.on('error', () => {});
      await client.connect();
      t.teardown(() => client.destroy());
      return client;
    },
    async ioredis(t, { sentinels }) {
      const client = new Redis({ name: 'main', sentinels: sentinels.map((port) => ({ host, port })), retryStrategy: () => 50, maxRetriesPerRequest: null });
      client.on('error', () => {});
      await once(client, 'ready');
      t.teardown(() => client.disconnect());
      return client;
    },
  },
};

/** A subscriber of a topic: its messages by epoch, and the gaps that were reported to it. */
async function listen({ members: [{ client, ws }] }, topic) {
  const heard = new Map();
  const gaps = [];
  const faults = [];
  client.on('message', (data) => {
    const [line, text] = String(data).split('\n');
    const [name, epoch, offset] = JSON.parse(line);
    if (name !== topic) return;
    const offsets = heard.get(epoch) ?? heard.set(epoch, new Map()).get(epoch);
    const last = [...offsets.keys()].at(-1);
    if (last !== undefined && offset <= last) faults.push(`${offset} after ${last} of ${epoch}`);
    offsets.set(offset, text);
  });
  ws.on('gap', (name, from, to) => name === topic && gaps.push({ from, to }));
  const { position } = await subscribe(ws, topic);
  return { client, faults, gaps, heard, position, has: (text) => [...heard.values()].some((offsets) => [...offsets.values()].includes(text)) };
}

/** Nothing is missing, in no epoch, that it was not told of. */
function expectNoHole(t, { faults, gaps, heard, position }) {
  t.deepEqual(faults, []);
  const epochs = [...heard.keys()];
  for (const epoch of epochs) {
    const start = gaps.find(({ from, to }) => from === null && to?.epoch === epoch)?.to.offset ?? (epoch === position.epoch ? position.offset : null);
    t.not(start, null, `nobody has told of ${epoch}`);
    let next = (start ?? 0) + 1;
    for (const offset of heard.get(epoch).keys()) {
      while (next < offset) {
        const gap = gaps.find(({ from, to }) => from?.epoch === epoch && from.offset <= next && next <= to.offset);
        t.truthy(gap, `${next} of ${epoch} is missing`);
        next = gap === undefined ? offset : gap.to.offset + 1;
      }
      next = offset + 1;
    }
  }
}

/** Rejects with what is waited for: a broker that does not come back says nothing. */
async function inTime(act) {
  const waiting = { for: 'the servers' };
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${PATIENCE} ms, still waiting for ${waiting.for}`)), PATIENCE);
  });
  await Promise.race([act(waiting), late]).finally(() => clearTimeout(timer));
}

async function run(t, waiting, makeClient, options, fault) {
  waiting.for = 'the clients';
  const nodes = [];
  for (let n = 0; n < 2; n++) {
    const adapter = redis.redisAdapter({ client: await makeClient(), ...options });
    const node = await openNode(t, adapter, 1, KEPT);
    node.server.topicsProtocol({ authorize: () => false });
    nodes.push(node);
  }
  const subscribers = [];
  for (const node of nodes) for (const topic of TOPICS) subscribers.push(await listen(node, topic));
  let said = 0;
  let confirmed = 0;
  let isOver = false;
  const failures = [];
  const rows = nodes.map(async ({ server }, index) => {
    while (!isOver) {
      for (const topic of TOPICS) server.publish(topic, `${index} ${++said}`, { receipt: true }).then(({ position }) => (confirmed += Number(position !== null)), (error) => failures.push(error));
      await sleep(2);
    }
  });
  const grows = async () => {
    const before = confirmed;
    while (confirmed < before + 500) await sleep(5);
  };
  waiting.for = '500 messages';
  await grows();
  waiting.for = 'another master';
  await fault();
  waiting.for = '500 more';
  await grows();
  isOver = true;
  await Promise.all(rows);
  waiting.for = 'what is on its way';
  while (nodes.some(({ server }) => server.metrics().adapter.bytesWaiting !== 0)) await sleep(5);
  waiting.for = 'the last messages';
  for (const topic of TOPICS) await nodes[0].server.publish(topic, 'end', { receipt: true });
  for (const one of subscribers) {
    while (!one.has('end')) await once(one.client, 'message');
    expectNoHole(t, one);
  }
  t.deepEqual(failures, []);
  const gaps = subscribers.flatMap((one) => one.gaps);
  t.log(`${confirmed} confirmed, gaps: ${gaps.length}`);
}

for (const [name, make] of Object.entries(CLIENTS.cluster)) {
  for (const sharded of [true, false]) {
    when(`${name}, ${sharded ? 'sharded' : 'plain'}: nobody lacks more than he is told when a master of a cluster is killed`, (t) => inTime(async (waiting) => {
      const cluster = await RedisCluster.start(t);
      await run(t, waiting, () => make(t, cluster), { sharded }, async () => {
        const key = 'reactor-ws:{/topic}';
        const master = cluster.masterOf(key);
        await cluster.kill(master);
        while (cluster.masterOf(key) === master) await sleep(20);
        await cluster.runNode(cluster.nodes.indexOf(master));
      });
    }));
  }
}

for (const [name, make] of Object.entries(CLIENTS.cluster)) {
  when(`${name}, sharded: a shard that is away does not keep a node from topics of others`, (t) => inTime(async (waiting) => {
    const cluster = await RedisCluster.start(t);
    const { members: [{ ws }], server } = await openNode(t, redis.redisAdapter({ client: await make(t, cluster) }));
    const topics = Array.from({ length: 30 }, (_, n) => `${n}`);
    const masterOf = (topic) => cluster.masterOf(`reactor-ws:{/${topic}}`);
    const away = masterOf(topics[0]);
    const [living, dead] = [topics.filter((topic) => masterOf(topic) !== away), topics.filter((topic) => masterOf(topic) === away)];
    const replica = Number(/:(\d+)@/.exec(cluster.ask(away, 'CLUSTER', 'REPLICAS', cluster.ask(away, 'CLUSTER', 'MYID').trim()))[1]);
    await cluster.kill(replica);
    await cluster.kill(away);
    const { subscriptionSync } = server._topics.clusterNode;
    for (const topic of topics) ws.subscribe(topic);
    waiting.for = 'the topics of shards that live';
    while (!living.every((topic) => subscriptionSync.isActive(topic))) await sleep(20);
    t.false(dead.some((topic) => subscriptionSync.isActive(topic)));
    await cluster.runNode(cluster.nodes.indexOf(away));
    waiting.for = 'the others';
    while (!dead.every((topic) => subscriptionSync.isActive(topic))) await sleep(20);
  }));
}

for (const [name, make] of Object.entries(CLIENTS.sentinels)) {
  when(`${name}: nobody lacks more than he is told when the master of Sentinels is killed`, (t) => inTime(async (waiting) => {
    const sentinels = await RedisSentinels.start(t);
    await run(t, waiting, () => make(t, sentinels), {}, async () => {
      await sentinels.kill(sentinels.master);
      while (sentinels.masterNow() === sentinels.master) await sleep(20);
    });
  }));
}

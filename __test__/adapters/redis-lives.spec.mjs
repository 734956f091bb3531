// Redis restarts from a file, or a replica takes over, with all messages or with half of them. Nodes that only publish, nodes that
// only listen, and clients of nodes that have ended notice reused positions. A restart without loss costs no recovery.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { renameSync } from 'node:fs';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import test from 'ava';

import redis from '../../lib/adapters/redis.js';
import { hears, openNode, subscribe } from '../helpers/nodes.mjs';
import { CLIENTS, RedisServer, hasRedis } from '../helpers/redis.mjs';
import { join } from '../helpers/topics.mjs';

const when = hasRedis ? test.serial : test.skip;
const SOON = 20;
const LATE = 700;
const VERY_LATE = 4500;
const texts = (name, count) => Array.from({ length: count }, (_, n) => `${name} ${n}`);

async function nodeOf(t, { path }, reconnectStrategy, members = 0) {
  const client = await CLIENTS.redis(t, { path }, { socket: { path, reconnectStrategy } });
  return openNode(t, redis.redisAdapter({ client }), members, { topicOptions: () => ({ history: 1000 }) });
}

const publish = async ({ server }, all) => (await Promise.all(all.map((text) => server.publish('topic', text, { receipt: true })))).at(-1).position;

const close = ({ server }) => new Promise((resolve) => {
  for (const client of server.clients) client.terminate();
  server.close(resolve);
});

/** `keep()`: the current data survives `fail()`. */
const WAYS = {
  async 'a file'(t) {
    const server = await RedisServer.start(t, { save: '3600 1' });
    const fail = async () => {
      await server.kill();
      await server.run();
    };
    return { fail, keep: async () => server.command('SAVE'), path: server.path };
  },
  async 'a log'(t) {
    const server = await RedisServer.start(t, { appendonly: 'yes', appendfsync: 'always' });
    const fail = async () => {
      await server.kill();
      await server.run();
    };
    return { fail, keep: async () => {}, path: server.path };
  },
  async 'a replica'(t) {
    const any = net.createServer().listen(0, '127.0.0.1');
    await once(any, 'listening');
    const { port } = any.address();
    await new Promise((resolve) => any.close(resolve));
    const master = await RedisServer.start(t, { port, bind: '127.0.0.1', 'repl-diskless-sync-delay': 0 });
    const replica = await RedisServer.start(t, { replicaof: `127.0.0.1 ${port}` });
    const offsetOf = (server, name) => new RegExp(`^${name}:(\\d+)`, 'm').exec(server.command('INFO', 'replication'))?.[1];
    const keep = async () => {
      while (offsetOf(replica, 'slave_repl_offset') !== offsetOf(master, 'master_repl_offset')) await sleep(20);
      replica.command('REPLICAOF', 'NO', 'ONE');
    };
    const fail = async () => {
      await master.kill();
      renameSync(replica.path, master.path);
    };
    return { fail, keep, path: master.path };
  },
};

for (const way of ['a file', 'a replica']) {
  const open = WAYS[way];

  for (const [who, delays] of Object.entries({ 'the publisher': [SOON, LATE], 'the listener': [LATE, SOON], 'both at once': [SOON, SOON] })) {
    when(`${way} with half of the messages, ${who} first: the listener hears the new ones, and of the loss`, async (t) => {
      const redisServer = await open(t);
      const publisher = await nodeOf(t, redisServer, delays[0]);
      const listener = await nodeOf(t, redisServer, delays[1], 1);
      const [member] = listener.members;
      await subscribe(member.ws, 'topic');
      await publish(publisher, texts('kept', 5));
      await redisServer.keep();
      const before = await publish(publisher, texts('lost', 5));
      await hears(member, 'lost 4');
      const gap = once(member.ws, 'gap');
      await redisServer.fail();
      const after = await publish(publisher, texts('new', 10));
      await gap;
      await publish(publisher, ['end']);
      await hears(member, 'end');
      t.deepEqual(member.heard.filter((text) => text.startsWith('new')), texts('new', 10));
      t.not(after.epoch, before.epoch);
      t.false((await subscribe(member.ws, 'topic', { since: before })).recovered);
    });
  }

  when(`${way} with half of the messages, and positions given again are no longer there: the loss is found`, async (t) => {
    const redisServer = await open(t);
    const kept = { size: 100, ttl: 0, positionTtl: 60_000 };
    const [early, late] = await Promise.all([0, 1].map(async () => {
      const adapter = redis.redisAdapter({ client: await CLIENTS.redis(t, redisServer) });
      const node = { id: randomBytes(6).toString('hex'), deliver() {}, lost() {}, report() {} };
      await adapter.start(node);
      t.teardown(() => adapter.close());
      await adapter.subscribe(['topic']);
      await adapter.history('topic', 'latest', 0, kept);
      return adapter;
    }));
    const say = (adapter, texts) => texts.reduce((before, text) => before.then(() => adapter.publish('topic', Buffer.from(`${text} ${randomBytes(6).toString('hex')}`), { history: kept })), Promise.resolve());
    await say(early, texts('kept', 5));
    await redisServer.keep();
    // It does not hear of what comes now.
    const { tops } = early;
    const before = new Map(tops);
    const { offset } = await say(late, texts('lost', 5));
    while (late.tops.get('topic').offset !== offset) await sleep(5);
    const eras = [early.era, late.era];
    await redisServer.fail();
    while (early.era < eras[0] + 2 || late.era < eras[1] + 2 || early.connectedAt === Infinity || late.connectedAt === Infinity) await sleep(5);
    tops.set('topic', before.get('topic'));
    const { epoch } = await say(early, texts('new', 5));
    const client = await CLIENTS.redis(t, redisServer);
    await client.del('reactor-ws:{/topic}:messages');
    await say(early, ['new 5']);
    const page = await late.history('topic', late.tops.get('topic'), 100, kept);
    t.false(page.recovered);
    t.not(page.position.epoch, epoch);
    // The same in one life is no loss.
    const { offset: heard } = await say(early, ['new 6']);
    while (late.tops.get('topic').offset !== heard) await sleep(5);
    const last = late.tops.get('topic');
    await client.del('reactor-ws:{/topic}:messages');
    await say(early, ['new 7']);
    late.tops.set('topic', last);
    t.like(await late.history('topic', last, 100, kept), { recovered: true, position: { epoch: last.epoch, offset: heard + 1 } });
  });

  when(`${way} with half of the messages, no node is left: positions that are there stay valid, and no others`, async (t) => {
    const redisServer = await open(t);
    const first = await nodeOf(t, redisServer, SOON);
    const kept = await publish(first, texts('kept', 5));
    await redisServer.keep();
    const lost = await publish(first, texts('lost', 5));
    await close(first);
    await redisServer.fail();
    const second = await nodeOf(t, redisServer, SOON, 1);
    await publish(second, texts('new', 10));
    const [member] = second.members;
    t.like(await subscribe(member.ws, 'topic', { since: lost }), { recovered: false });
    t.like(await subscribe(member.ws, 'topic', { since: kept }), { recovered: true, replayed: 10 });
    t.false((await second.server.history('topic', { since: lost })).recovered);
  });

  when(`${way} with half of the messages, a node that knows an earlier one is first: no position is given away again`, async (t) => {
    const redisServer = await open(t);
    const early = await nodeOf(t, redisServer, SOON);
    const listener = await nodeOf(t, redisServer, VERY_LATE, 1);
    const late = await nodeOf(t, redisServer, SOON);
    const [member] = listener.members;
    await subscribe(member.ws, 'topic');
    await publish(early, texts('kept', 5));
    await redisServer.keep();
    const before = await publish(late, texts('lost', 5));
    await hears(member, 'lost 4');
    await close(late);
    const gap = once(member.ws, 'gap');
    await redisServer.fail();
    t.not((await publish(early, texts('new', 10))).epoch, before.epoch);
    const back = await join(t, early.server);
    t.false((await subscribe(back.ws, 'topic', { since: before })).recovered);
    await gap;
    await hears(member, 'new 9');
    t.false((await subscribe(member.ws, 'topic', { since: before })).recovered);
  });
}

for (const way of Object.keys(WAYS)) {
  when(`${way} with all messages: no recovery is lost, and nobody is told`, async (t) => {
    const redisServer = await WAYS[way](t);
    const publisher = await nodeOf(t, redisServer, SOON);
    const listener = await nodeOf(t, redisServer, LATE, 1);
    const [member] = listener.members;
    const gaps = [];
    member.ws.on('gap', (...gap) => gaps.push(gap));
    await subscribe(member.ws, 'topic');
    const before = await publish(publisher, texts('kept', 5));
    await hears(member, 'kept 4');
    await redisServer.keep();
    await redisServer.fail();
    const { epoch } = await publish(publisher, texts('new', 5));
    await hears(member, 'new 4');
    const back = await join(t, listener.server);
    t.like(await subscribe(back.ws, 'topic', { since: before }), { recovered: true, replayed: 5 });
    t.deepEqual([gaps, epoch], [[], before.epoch]);
  });

  when(`${way} with all messages, no node is left: no recovery is lost`, async (t) => {
    const redisServer = await WAYS[way](t);
    const first = await nodeOf(t, redisServer, SOON);
    const before = await publish(first, texts('kept', 5));
    await redisServer.keep();
    await close(first);
    await redisServer.fail();
    const second = await nodeOf(t, redisServer, SOON, 2);
    const [one, other] = second.members;
    t.like(await subscribe(one.ws, 'topic', { since: before }), { recovered: true, replayed: 0 });
    await publish(second, texts('new', 5));
    t.like(await subscribe(other.ws, 'topic', { since: { ...before, offset: 2 } }), { recovered: true, replayed: 8 });
  });
}

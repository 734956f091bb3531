// Redis that is killed, paused, full, or that throws clients out, while two nodes publish.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

import test from 'ava';

import redis from '../../lib/adapters/redis.js';
import { Child } from '../helpers/child.mjs';
import { hears, openNode, subscribe } from '../helpers/nodes.mjs';
import { CLIENTS, Network, RedisServer, hasRedis } from '../helpers/redis.mjs';

// One after the other: each has a server of its own.
const when = hasRedis ? test.serial : test.skip;
const PERSISTENT = { appendonly: 'yes', appendfsync: 'always' };
/** More than are published. */
const KEPT = { topicOptions: () => ({ history: 100_000 }) };

/** Two nodes with two members each, each with a client of its own. */
async function open(t, name, settings, options = KEPT) {
  const server = await RedisServer.start(t, settings);
  const nodes = [];
  for (let n = 0; n < 2; n++) {
    const client = await CLIENTS[name](t, server);
    nodes.push(await openNode(t, redis.redisAdapter({ client }), 2, options));
  }
  const members = nodes.flatMap(({ members: some }) => some);
  const gaps = [];
  for (const { ws } of members) {
    ws.on('gap', (...gap) => gaps.push(gap));
    await subscribe(ws, 'topic');
  }
  return { server, nodes, members, gaps };
}

/** Each node publishes until `stop()`, which returns the texts that the broker has confirmed. */
function publishing(nodes) {
  let isOver = false;
  const confirmed = [];
  const failures = [];
  const rows = nodes.map(async ({ server }, index) => {
    const receipts = [];
    for (let n = 0; !isOver; n++) {
      const text = `${index} ${n}`;
      receipts.push(server.publish('topic', text, { receipt: true }).then(() => confirmed.push(text), (error) => failures.push(error)));
      await sleep(1);
    }
    await Promise.all(receipts);
  });
  const stop = async () => {
    isOver = true;
    await Promise.all(rows);
    return { confirmed, failures };
  };
  return { confirmed, stop };
}

const until = async (condition) => {
  while (!condition()) await sleep(5);
};

/** All members have had the same, each message once, those of each node in order. */
async function expectOneRow(t, nodes, members, confirmed) {
  nodes[0].server.publish('topic', 'end');
  for (const member of members) await hears(member, 'end');
  const [first, ...others] = members.map(({ heard }) => heard);
  for (const other of others) t.deepEqual(other, first);
  const texts = first.slice(0, -1);
  t.is(new Set(texts).size, texts.length, 'nothing twice');
  const had = new Set(texts);
  t.deepEqual(confirmed.filter((text) => !had.has(text)), [], 'all that was confirmed');
  for (const index of nodes.keys()) {
    const own = texts.filter((text) => text.startsWith(`${index} `)).map((text) => Number(text.split(' ')[1]));
    t.deepEqual(own, [...own].sort((a, b) => a - b), 'in order');
  }
}

for (const name of Object.keys(CLIENTS)) {
  const faults = {
    'is killed, and started with its file': async (server) => {
      await server.kill();
      await sleep(300);
      await server.run();
    },
    'is stopped, and started with its file': async (server) => {
      await server.kill('SIGTERM');
      await server.run();
    },
    'is paused': async (server) => {
      server.signal('SIGSTOP');
      await sleep(process.env.BYTES === 'all' ? 20_000 : 2000);
      server.signal('SIGCONT');
    },
    'throws all clients out, five times': async (server) => {
      for (let n = 0; n < 5; n++) {
        server.command('CLIENT', 'KILL', 'TYPE', n % 2 ? 'normal' : 'pubsub');
        await sleep(100);
      }
    },
    'forgets its scripts': async (server) => server.command('SCRIPT', 'FLUSH'),
  };
  for (const [title, fault] of Object.entries(faults)) {
    when(`${name}: nobody misses a message of a history when Redis ${title}`, async (t) => {
      const { gaps, members, nodes, server } = await open(t, name, PERSISTENT);
      const { confirmed, stop } = publishing(nodes);
      await until(() => confirmed.length > 50);
      await fault(server);
      const before = confirmed.length;
      await until(() => confirmed.length > before + 50);
      const result = await stop();
      t.deepEqual(result.failures, []);
      await expectOneRow(t, nodes, members, result.confirmed);
      t.deepEqual(gaps, []);
      // A message may come back before Redis says that it is there.
      await until(() => nodes.every(({ server: node }) => node.metrics().adapter.bytesWaiting === 0));
    });
  }

  // ioredis gives up by itself.
  if (name === 'redis') when(`${name}: nobody tries to connect any more after close(), while Redis is away`, async (t) => {
    const server = await RedisServer.start(t);
    const client = await CLIENTS[name](t, server);
    const subscribers = [];
    const { duplicate } = client;
    client.duplicate = (...args) => {
      subscribers.push(duplicate.apply(client, args));
      return subscribers.at(-1);
    };
    const adapter = redis.redisAdapter({ client });
    const { server: node } = await openNode(t, adapter, 0, KEPT);
    await server.kill();
    void adapter.replace();
    await until(() => subscribers.length === 2);
    await sleep(50);
    await new Promise((resolve) => node.close(resolve));
    await until(() => adapter.isClosed);
    await until(() => subscribers.every(({ isOpen }) => !isOpen));
    t.pass();
  });

  when(`${name}: a gap without a beginning, and nothing twice, when Redis starts without what it had`, async (t) => {
    const { gaps, members, nodes, server } = await open(t, name);
    const { confirmed, stop } = publishing(nodes);
    await until(() => confirmed.length > 50);
    const told = members.map(({ ws }) => once(ws, 'gap'));
    await server.kill();
    await server.run();
    await Promise.all(told);
    const before = confirmed.length;
    await until(() => confirmed.length > before + 50);
    await stop();
    nodes[0].server.publish('topic', 'end');
    for (const member of members) {
      await hears(member, 'end');
      t.is(new Set(member.heard).size, member.heard.length, 'nothing twice');
    }
    for (const [topic, from, to] of gaps) t.deepEqual([topic, from, typeof to.epoch], ['topic', null, 'string']);
  });

  when(`${name}: without a history nothing comes twice, and losses are gaps, when Redis throws clients out`, async (t) => {
    const { gaps, members, nodes, server } = await open(t, name, {}, {});
    const { confirmed, stop } = publishing(nodes);
    await until(() => confirmed.length > 50);
    const told = members.map(({ ws }) => once(ws, 'gap'));
    server.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
    server.command('CLIENT', 'KILL', 'TYPE', 'normal');
    await Promise.all(told);
    const before = confirmed.length;
    await until(() => confirmed.length > before + 50);
    await stop();
    nodes[0].server.publish('topic', 'end');
    for (const { heard } of members.slice(0, 2)) t.true(heard.length > 50);
    for (const member of members) await hears(member, 'end');
    for (const { heard } of members) t.is(new Set(heard).size, heard.length, 'nothing twice');
    t.deepEqual(gaps[0], ['topic', null, null]);
  });

  when(`${name}: Redis drops a node that does not read, and the node catches up`, async (t) => {
    const settings = { 'client-output-buffer-limit': 'pubsub 64kb 64kb 1' };
    const { gaps, members, nodes, server } = await open(t, name, settings);
    const child = new Child(t, 'redis-publisher.mjs', [server.path, 400, 10_000]);
    await child.line();
    // This thread does not read meanwhile.
    const blocked = Date.now() + 1500;
    while (Date.now() < blocked);
    t.is((await child.ended()).code, 0);
    for (const member of members) await hears(member, 'end');
    for (const { heard } of members) t.deepEqual(heard.map((text) => text.split(' ')[0]), [...Array.from({ length: 400 }, (_, n) => String(n)), 'end']);
    t.deepEqual(gaps, []);
    t.true(nodes.some(({ server: node }) => node.metrics().adapter.received < 400), 'some were read');
  });

  when(`${name}: a full Redis refuses messages of a history, and others when it has room again`, async (t) => {
    const { members, nodes: [a], server } = await open(t, name, { maxmemory: '3mb', 'maxmemory-policy': 'noeviction' });
    const long = 'x'.repeat(100_000);
    let error = null;
    let count = 0;
    while (error === null) await a.server.publish('topic', long, { receipt: true }).then(() => count++, (reason) => (error = reason));
    t.regex(error.message, /OOM/);
    server.command('CONFIG', 'SET', 'maxmemory', '0');
    const { position } = await a.server.publish('topic', 'end', { receipt: true });
    t.is(position.offset, count + 1, 'no position was given away');
    for (const member of members) await hears(member, 'end');
    for (const { heard } of members) t.is(heard.length, count + 1);
    t.true(a.server.metrics().adapter.failed >= 1);
  });

  for (const isSoon of [true, false]) {
    when(`${name}: a node that the network cuts off catches up, ${isSoon ? 'soon' : 'after its connection was given up'}`, async (t) => {
      const server = await RedisServer.start(t, PERSISTENT);
      const network = await Network.start(t, server);
      const nodes = [];
      for (const place of [network, server]) {
        const client = await CLIENTS[name](t, place);
        nodes.push(await openNode(t, redis.redisAdapter({ client }), 2, KEPT));
      }
      const [cutOff, other] = nodes;
      const members = nodes.flatMap(({ members: some }) => some);
      const gaps = [];
      for (const { ws } of members) {
        ws.on('gap', (...gap) => gaps.push(gap));
        await subscribe(ws, 'topic');
      }
      const { confirmed, stop } = publishing(nodes);
      await until(() => confirmed.length > 50);
      network.cut();
      const before = other.members[0].heard.length;
      await until(() => other.members[0].heard.length > before + 50);
      if (!isSoon) await until(() => cutOff.server.metrics().adapter.state === 'away');
      t.is(other.server.metrics().adapter.state, 'connected');
      network.mend();
      const result = await stop();
      t.deepEqual(result.failures, []);
      await expectOneRow(t, nodes, members, result.confirmed);
      t.deepEqual(gaps, []);
    });
  }

  when(`${name}: local subscribers get all while Redis is away, and the rest waits`, async (t) => {
    const { members, nodes: [a, b], server } = await open(t, name, {}, {});
    const away = once(a.server, 'adapter');
    await server.kill();
    t.is((await away)[0].type, 'away');
    t.is(a.server.publish('topic', 'meanwhile'), 2);
    for (const member of members.slice(0, 2)) await hears(member, 'meanwhile');
    t.true(a.server.metrics().adapter.bytesWaiting > 0);
    t.true(a.server.metrics().adapter.lag >= 0);
    const back = [a, b].map(async ({ server: node }) => {
      while (node.metrics().adapter.state !== 'connected') await once(node, 'adapter');
    });
    await server.run();
    await Promise.all(back);
    a.server.publish('topic', 'after');
    for (const member of members) await hears(member, 'after');
    t.is(a.server.metrics().adapter.reconnects, 1);
  });

}

// Connections of a server with an adapter move while another node publishes.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import net from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { startServer, test } from '../helpers/index.mjs';
import { adapterTo } from '../helpers/brokers.mjs';
import { NatsServer, hasNats } from '../helpers/nats.mjs';
import { RedisServer, hasRedis } from '../helpers/redis.mjs';
import { exits, inMode, open, place, until, version } from '../helpers/versions.mjs';

const BROKERS = {
  redis: { start: async (t) => (await RedisServer.start(t)).path, has: hasRedis, histories: [0, 20] },
  ioredis: { start: async (t) => (await RedisServer.start(t)).path, has: hasRedis, histories: [5] },
  nats: { start: async (t) => (await NatsServer.start(t)).address, has: hasNats },
  cluster: { start: async () => randomBytes(6).toString('hex'), has: true },
};

/** A node of this process. */
async function node(t, broker, history) {
  const topicOptions = history === 0 ? undefined : () => ({ history });
  const [adapter, leave] = await adapterTo(broker);
  const server = await startServer(t, { adapter, topicOptions, presenceGrace: 0 });
  t.teardown(leave);
  while (server.metrics().adapter.state !== 'connected') await once(server, 'adapter');
  return server;
}

/** The messages of a client. */
function heardBy(ws) {
  const texts = [];
  ws.on('message', (data) => texts.push(String(data)));
  return texts;
}

for (const [kind, { has, histories = [0], start }] of Object.entries(BROKERS)) {
  // More messages come meanwhile than a history keeps.
  for (const history of histories) {
    (has ? inMode : test.skip)(`${kind}, histories of ${history}: nothing is lost, repeated or out of order, and entries stay`, async (t) => {
      const path = place(t);
      const broker = { kind, place: await start(t) };
      const options = { broker, history, presenceGrace: 0 };
      let current = await version(t, 'v0', 0, path, options);
      const { port } = current;
      const other = await node(t, broker, history);
      const changes = [];
      other.on('presence', (name, change) => changes.push(change));
      other.presence('/topic');
      const clients = [await open(port, '/topic'), await open(port, '/topic'), await open(port, '/topic/2')];
      const heard = clients.map(heardBy);
      clients[0].send(JSON.stringify({ enter: 'me' }));
      await until(() => other.presence('/topic').count === 1);
      // Until the first node has subscribed, however long that takes.
      while (heard.some(({ length }) => length === 0)) {
        for (const topic of ['/topic', '/topic/2']) other.publish(topic, 'begin');
        await sleep(100);
      }
      const joined = changes.length;
      let [isOver, count] = [false, 0];
      const publishing = (async () => {
        while (!isOver) {
          for (let n = Math.random() * 4; n > 0; n--) {
            count++;
            for (const topic of ['/topic', '/topic/2']) other.publish(topic, `other ${count}`);
          }
          await sleep(Math.random() * 10);
        }
      })();
      // Nothing moves: the old process goes on as the node that it was.
      const refused = await version(t, 'other', port, path, { ...options, host: '127.0.0.2' });
      t.regex(refused.first, /^error WS_ERR_HANDOVER/);
      refused.process.kill();
      const later = count + 1;
      await until(() => heard.every((texts) => texts.includes(`other ${later}`)));
      clients[1].send(JSON.stringify({ publish: 'own v0' }));
      for (const name of ['v1', 'v2', 'v3']) {
        const next = await version(t, name, port, path, options);
        t.is((await current.ended()).code, 0);
        current = next;
        clients[1].send(JSON.stringify({ publish: `own ${name}` }));
        await until(() => heard.slice(0, 2).every((texts) => texts.includes(`own ${name}`)));
      }
      isOver = true;
      await publishing;
      await until(() => heard.every((texts) => texts.includes(`other ${count}`)));
      for (const [index, texts] of heard.entries()) {
        const numbers = texts.filter((text) => text.startsWith('other')).map((text) => Number(text.slice(6)));
        t.deepEqual(numbers, Array.from({ length: count }, (_, n) => n + 1));
        t.deepEqual(texts.filter((text) => text.startsWith('own')), index === 2 ? [] : ['own v0', 'own v1', 'own v2', 'own v3']);
      }
      t.deepEqual(changes.slice(joined), [], 'no watcher of another node has noticed');
      clients[0].terminate();
      await until(() => other.presence('/topic').count === 0);
      for (const ws of clients) ws.terminate();
    });
  }
}

for (const mode of ['native', 'noServer']) {
  (hasRedis ? inMode : test.skip)(`redis, on the port of an HTTP server, ${mode}: nothing is lost, repeated or out of order`, async (t) => {
    const path = place(t);
    const broker = { kind: 'redis', place: (await RedisServer.start(t)).path };
    const options = { broker, history: 1000, mode };
    let current = await version(t, 'v0', 0, path, options);
    const other = await node(t, broker, 1000);
    const clients = [await open(current.port), await open(current.port)];
    const heard = clients.map(heardBy);
    let count = 0;
    const timer = setInterval(() => other.publish('topic', `other ${count++}`), 3);
    t.teardown(() => clearInterval(timer));
    await until(() => heard.every(({ length }) => length > 0));
    const [begin] = heard.map((texts) => Number(texts[0].slice(6)));
    for (const name of ['v1', 'v2', 'v3']) {
      const next = await version(t, name, current.port, path, options);
      await exits(t, current);
      current = next;
    }
    clearInterval(timer);
    await until(() => heard.every((texts) => texts.includes(`other ${count - 1}`)));
    const expected = Array.from({ length: count - begin }, (_, n) => `other ${begin + n}`);
    for (const texts of heard) t.deepEqual(texts.slice(texts.indexOf(`other ${begin}`)), expected);
    for (const ws of clients) ws.terminate();
  });
}

/** A way to a server on which each byte takes so many milliseconds. */
async function longWay(t, target, delay) {
  const path = join(dirname(target), 'long-way');
  const server = net.createServer((near) => {
    const far = net.connect(target);
    for (const [from, to] of [[near, far], [far, near]]) {
      from.on('error', () => {});
      from.on('data', (bytes) => setTimeout(() => to.write(bytes), delay));
      from.on('close', () => setTimeout(() => to.destroy(), delay));
    }
  });
  server.listen(path);
  await once(server, 'listening');
  t.teardown(() => server.close());
  return path;
}

for (const history of [0, 5]) {
  (hasRedis ? inMode : test.skip)(`redis far from the first process, histories of ${history}: two more take over, and nothing is lost`, async (t) => {
    const path = place(t);
    const { path: near } = await RedisServer.start(t);
    const options = { broker: { kind: 'redis', place: near }, history };
    const old = await version(t, 'v0', 0, path, { ...options, broker: { kind: 'redis', place: await longWay(t, near, 400) } });
    const other = await node(t, options.broker, history);
    const ws = await open(old.port, '/topic');
    const heard = heardBy(ws);
    let count = 0;
    const timer = setInterval(() => other.publish('/topic', `${++count}`), 10);
    t.teardown(() => clearInterval(timer));
    await until(() => heard.length > 0);
    // The second one has not had everything when the third one comes.
    await version(t, 'v1', old.port, path, options);
    await version(t, 'v2', old.port, path, options);
    await old.ended();
    clearInterval(timer);
    other.publish('/topic', `${++count}`);
    await until(() => heard.includes(`${count}`));
    const [first] = heard.map(Number);
    t.deepEqual(heard.map(Number), Array.from({ length: count - first + 1 }, (_, n) => first + n));
    ws.terminate();
  });
}

(hasRedis ? inMode : test.skip)('redis: the old process ends before the new one takes, which has messages all the same', async (t) => {
  const path = place(t);
  const broker = { kind: 'redis', place: (await RedisServer.start(t)).path };
  const old = await version(t, 'v0', 0, path, { broker });
  const other = await node(t, broker, 0);
  // The old process has made its own path by way of a folder, too.
  await until(() => readdirSync(dirname(path)).length === 1);
  const next = version(t, 'v1', old.port, path, { broker, stands: 1000 });
  await until(() => readdirSync(dirname(path)).length === 2);
  // It has the state by then.
  await sleep(300);
  old.process.kill('SIGKILL');
  t.is((await next).first, `listening ${old.port}`);
  const ws = await open(old.port, '/topic');
  const heard = heardBy(ws);
  while (heard.length === 0) {
    other.publish('/topic', 'x');
    await sleep(50);
  }
  t.is(heard[0], 'x');
  ws.terminate();
});

(hasRedis ? inMode : test.skip)('redis: the old process ends at once, and messages do not wait for it', async (t) => {
  const path = place(t);
  const broker = { kind: 'redis', place: (await RedisServer.start(t)).path };
  const old = await version(t, 'v0', 0, path, { broker: { kind: 'redis', place: await longWay(t, broker.place, 500) } });
  const other = await node(t, broker, 0);
  const ws = await open(old.port, '/topic');
  const heard = heardBy(ws);
  const timer = setInterval(() => other.publish('/topic', 'x'), 10);
  t.teardown(() => clearInterval(timer));
  await until(() => heard.length > 0);
  // For this one it would be hours.
  await version(t, 'v1', old.port, path, { broker, faster: 0.001 });
  old.process.kill('SIGKILL');
  await old.ended();
  const before = heard.length;
  await until(() => heard.length > before + 10);
  t.pass();
  ws.terminate();
});

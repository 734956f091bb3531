// Calls to Redis by its adapter and by a node: which, how often, and when they are repeated.
import { once } from 'node:events';
import { mock } from 'node:test';

import test from 'ava';

import { Scripts, mayPass } from '../../lib/adapters/redis/calls.js';
import redis from '../../lib/adapters/redis.js';
import { SubscriptionSync } from '../../lib/nodes/subscription-sync.js';
import { hears, openNode, subscribe } from '../helpers/nodes.mjs';
import { CLIENTS, RedisServer, hasRedis } from '../helpers/redis.mjs';

/** `MAX_RETRY` of lib/nodes/subscription-sync.js. */
const LONGEST = 10_000;

const when = hasRedis ? test : test.skip;

test.serial('a broker that refuses topics is asked for each new one once, and for all again after longer and longer', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const calls = [];
  let isRefused = true;
  const subscribed = async (names) => {
    calls.push(names.length);
    if (isRefused) throw new Error('no');
  };
  const on = [];
  const subscriptionSync = new SubscriptionSync({ subscribe: subscribed, unsubscribe() {} }, { on: (name) => on.push(name), off() {}, failed() {} });
  subscriptionSync.open();
  for (let n = 0; n < 300; n++) {
    subscriptionSync.subscribe(String(n));
    mock.timers.tick(2);
    await new Promise(setImmediate);
  }
  t.true(calls.length < 10, `${calls.length} calls`);
  t.true(calls.reduce((sum, count) => sum + count) < 900);
  // In the end every LONGEST milliseconds.
  const before = calls.length;
  for (let n = 0; n < 50; n++) {
    mock.timers.tick(LONGEST);
    await new Promise(setImmediate);
  }
  t.true(calls.length - before > 40, `${calls.length - before} calls`);
  isRefused = false;
  for (let n = 0; n < 3; n++) {
    mock.timers.tick(10_000);
    await new Promise(setImmediate);
  }
  t.is(new Set(on).size, 300);
});

test.serial('a topic that the broker alone refuses makes others wait for nothing, and is asked for after longer and longer', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  let asked = 0;
  const subscribed = async (names) => {
    if (!names.includes('denied')) return;
    asked++;
    throw Object.assign(new Error('no'), { topics: ['denied'] });
  };
  const on = [];
  const subscriptionSync = new SubscriptionSync({ subscribe: subscribed, unsubscribe() {} }, { on: (name) => on.push(name), off() {}, failed() {} });
  subscriptionSync.open();
  for (const name of ['denied', 'with it']) subscriptionSync.subscribe(name);
  for (let n = 0; n < 100; n++) {
    await new Promise(setImmediate);
    subscriptionSync.subscribe(String(n));
    await new Promise(setImmediate);
    t.is(on.at(-1), String(n));
    mock.timers.tick(250);
  }
  t.true(asked > 1 && asked < 12, `${asked} times`);
  t.deepEqual([on[0], subscriptionSync.isActive('denied')], ['with it', false]);
});

test('a topic that the broker has refused, and that is left, is given up: the adapter may remember it', async (t) => {
  const gone = [];
  const refuse = () => Promise.reject(new Error('no'));
  const subscriptionSync = new SubscriptionSync({ subscribe: refuse, unsubscribe: (names) => void gone.push(...names) }, { on() {}, off() {}, failed() {} });
  subscriptionSync.open();
  subscriptionSync.subscribe('at once');
  subscriptionSync.subscribe('later');
  process.nextTick(() => subscriptionSync.unsubscribe('at once'));
  await new Promise(setImmediate);
  subscriptionSync.unsubscribe('later');
  while (gone.length !== 2) await new Promise(setImmediate);
  t.deepEqual([...gone, subscriptionSync.all.size], ['at once', 'later', 0]);
});

test.serial('a client that keeps calls while Redis is away does not get the same one without end', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const answers = [];
  const scripts = new Scripts({ command: () => new Promise((resolve) => answers.push(resolve)) });
  for (let n = 0; n < 5; n++) {
    const late = scripts.run({ hash: '', text: '' }, ['key'], []);
    mock.timers.tick(15_000);
    await t.throwsAsync(late, { message: /has not answered/ });
  }
  t.is(answers.length, 2);
  answers[0]('late');
  await new Promise(setImmediate);
  const last = scripts.run({ hash: '', text: '' }, ['key'], []);
  answers[2]('in time');
  t.is(await last, 'in time');
});

test('Redis 6.2 says within another error that a command in a script may succeed later', (t) => {
  const error = (text) => new Error(`ERR Error running script (call to f_0c): @user_script:44: ${text}`);
  t.true(mayPass(error('-READONLY You can\'t write against a read only replica.')));
  t.true(mayPass(error('-NOREPLICAS Not enough good replicas to write.')));
  t.false(mayPass(error('@user_script: 44: The user executing the script can\'t run this command or subcommand')));
});

for (const name of Object.keys(CLIENTS)) {
  when(`${name}: messages of a tick are one command`, async (t) => {
    const place = await RedisServer.start(t);
    const client = await CLIENTS[name](t, place);
    const { members: [member], server } = await openNode(t, redis.redisAdapter({ client }), 1);
    const other = await openNode(t, redis.redisAdapter({ client: await CLIENTS[name](t, place) }), 1);
    for (const { ws } of [member, other.members[0]]) await subscribe(ws, 'topic');
    const send = name === 'redis' ? 'sendCommand' : 'callBuffer';
    const original = client[send];
    let calls = 0;
    client[send] = (...args) => {
      calls++;
      return original.apply(client, args);
    };
    for (let n = 0; n < 500; n++) server.publish('topic', `${n} ${'x'.repeat(100)}`);
    server.publish('topic', 'end');
    await hears(other.members[0], 'end');
    t.true(calls <= 2, `${calls} calls`);
    t.deepEqual(other.members[0].heard.map((text) => text.split(' ')[0]), [...Array.from({ length: 500 }, (_, n) => String(n)), 'end']);
  });

  when(`${name}: a history goes on after Redis has refused to publish`, async (t) => {
    const place = await RedisServer.start(t);
    const { members: [member], server } = await openNode(t, redis.redisAdapter({ client: await CLIENTS[name](t, place) }), 1, { topicOptions: () => ({ history: 10 }) });
    await subscribe(member.ws, 'topic');
    place.command('ACL', 'SETUSER', 'default', '-publish');
    await t.throwsAsync(server.publish('topic', 'refused', { receipt: true }));
    place.command('ACL', 'SETUSER', 'default', '+publish');
    t.is((await server.publish('topic', 'end', { receipt: true })).position.offset, 2);
    await hears(member, 'end');
  });

  when(`${name}: close() ends a connection that has never been made`, async (t) => {
    const place = await RedisServer.start(t);
    const client = await CLIENTS[name](t, place);
    await place.kill();
    const adapter = redis.redisAdapter({ client });
    const started = adapter.start({ id: '0'.repeat(12), deliver() {}, lost() {}, report() {} });
    await new Promise(setImmediate);
    const { client: own } = adapter.connecting;
    await adapter.close();
    await t.throwsAsync(started);
    if (name === 'ioredis' && own.status !== 'end') await once(own, 'end');
    t.false(name === 'redis' ? own.isOpen : own.status !== 'end');
  });
}

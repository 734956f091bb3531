// Three nodes in processes of their own, a broker, and clients that come, go, stall, and come back on other nodes, while
// nodes and the broker are killed. No subscriber must miss a message, get one twice, or see another order.
//
//   npm run test:nodes                                   each adapter whose broker is installed
//   NODES_STEPS=500000 NODES_SEED=7 npm run test:nodes -- redis
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { NatsServer, hasNats } from '../helpers/nats.mjs';
import { randomNumbers } from '../helpers/random.mjs';
import { RedisServer, hasRedis } from '../helpers/redis.mjs';
import { Member, World } from './model.mjs';

const STEPS = Number(process.env.NODES_STEPS ?? 5000);
const SEED = Number(process.env.NODES_SEED ?? Date.now() % 1_000_000);
const NODES = 3;
const MEMBERS = 12;
const TOPICS = ['a', 'bb', 'ccc', '{d}', 'e\ud800', ''];
/** Steps between comparisons of everybody with the broker. */
const ROUND = 500;
/** Milliseconds that all may take to catch up. */
const PATIENCE = 60_000;

process.setMaxListeners(0);

const teardowns = [];
const t = { teardown: (undo) => teardowns.push(undo) };

const BROKERS = {
  redis: { isThere: hasRedis, start: startRedis, isShared: true },
  ioredis: { isThere: hasRedis, start: startRedis, isShared: true },
  'file-redis': { isThere: hasRedis, start: startWithFile, isShared: true, isLossy: true },
  nats: { isThere: hasNats, start: startNats, isShared: false },
  cluster: { isThere: true, start: async () => ({ place: randomBytes(6).toString('hex') }), isShared: false },
};

async function startRedis() {
  const server = await RedisServer.start(t, { appendonly: 'yes', appendfsync: 'always', 'auto-aof-rewrite-min-size': '8mb' });
  return { place: server.path, server, throwOut: (type) => server.command('CLIENT', 'KILL', 'TYPE', type) };
}

/** Killed, it starts with what it had some time ago. */
async function startWithFile() {
  const server = await RedisServer.start(t, { save: '3600 100000' });
  return { place: server.path, server, throwOut: (type) => server.command('CLIENT', 'KILL', 'TYPE', type), keep: () => server.command('SAVE') };
}

async function startNats() {
  const server = await NatsServer.start(t);
  return { place: server.address, server };
}

class Nodes {
  constructor(kind, place) {
    this.kind = kind;
    this.place = place;
    this.all = [];
  }

  async start(index) {
    const child = spawn(process.execPath, [fileURLToPath(new URL('node.mjs', import.meta.url)), this.kind, this.place], { stdio: ['ignore', 'pipe', 'inherit'] });
    process.on('exit', () => child.kill('SIGKILL'));
    const [line] = await Promise.race([once(child.stdout, 'data'), once(child, 'exit').then(() => [''])]);
    assert.notEqual(String(line).trim(), '', `node ${index} has ended`);
    this.all[index] = { child, port: Number(line) };
  }

  async kill(index) {
    const { child } = this.all[index];
    this.all[index] = null;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  get running() {
    return this.all.filter((node) => node !== null);
  }
}

/** Runs one adapter's model. Resolves with what happened. */
async function run(kind, seed) {
  const { isLossy = false, isShared, start } = BROKERS[kind];
  const random = randomNumbers(seed);
  const pick = (list) => list[random(list.length)];
  const broker = await start();
  const nodes = new Nodes(kind, broker.place);
  await Promise.all(Array.from({ length: NODES }, (_, index) => nodes.start(index)));
  const world = new World(isShared, isLossy);
  const members = Array.from({ length: MEMBERS }, (_, index) => new Member(world, `m${index}`));
  await Promise.all(members.map((member) => member.connect(pick(nodes.running).port)));
  const counts = {};
  let isBusy = false;

  const reconnect = async (member) => {
    member.leave();
    await member.connect(pick(nodes.running).port);
  };
  /** Members that come back. */
  const coming = new Set();
  const faults = {
    async killNode() {
      const index = random(NODES);
      const { port } = nodes.all[index];
      await nodes.kill(index);
      await Promise.all(members.filter((member) => member.port === port).map(reconnect));
      await nodes.start(index);
    },
    ...(broker.server && {
      async killBroker() {
        await broker.server.kill();
        await sleep(random(200));
        await broker.server.run();
      },
      async pauseBroker() {
        broker.server.signal('SIGSTOP');
        await sleep(random(300));
        broker.server.signal('SIGCONT');
      },
    }),
    ...(broker.throwOut && {
      async throwOut() {
        broker.throwOut(pick(['pubsub', 'normal']));
      },
    }),
  };
  const steps = [
    [30, () => pick(members).publish(pick(TOPICS))],
    [2, () => {
      const [member, topic] = [pick(members), pick(TOPICS)];
      for (let n = 0; n < 50; n++) member.publish(topic);
    }],
    [6, () => pick(members).subscribe(pick(TOPICS))],
    [2, () => pick(members).unsubscribe(pick(TOPICS))],
    [2, () => {
      const { socket } = pick(members);
      socket?.pause();
      setTimeout(() => socket?.resume(), random(100));
    }],
    [2, () => {
      const back = reconnect(pick(members)).catch(() => {}).finally(() => coming.delete(back));
      coming.add(back);
    }],
    [0.1, () => broker.server?.process !== null && !isBusy && broker.keep?.()],
    [0.15, () => {
      // One fault at a time.
      if (isBusy) return;
      isBusy = true;
      const name = pick(Object.keys(faults));
      counts[name] = (counts[name] ?? 0) + 1;
      void faults[name]().finally(() => (isBusy = false));
    }],
  ];
  const total = steps.reduce((sum, [weight]) => sum + weight, 0);
  for (let step = 1; step <= STEPS; step++) {
    let at = random(1_000_000) / 1_000_000 * total;
    const [, act] = steps.find(([weight]) => (at -= weight) < 0);
    act();
    if (random(4) === 0) await sleep(1);
    if (world.failure !== null) throw world.failure;
    if (step % ROUND === 0 || step === STEPS) {
      while (isBusy) await sleep(10);
      await Promise.all(coming);
      await settle(world, members, nodes);
    }
  }
  world.check();
  for (const member of members) member.leave();
  await Promise.all(nodes.all.map((_, index) => nodes.kill(index)));
  return { seed, heard: world.heard, confirmed: world.confirmed.length, replays: world.replays, gaps: world.gaps, refused: world.refused, unanswered: world.unanswered, ...counts };
}

/** Everybody has all that the broker has. */
async function settle(world, members, nodes) {
  const end = Date.now() + PATIENCE;
  const until = async (isDone, what) => {
    while (!isDone()) {
      if (world.failure !== null) throw world.failure;
      assert(Date.now() < end, what());
      await sleep(5);
    }
  };
  for (const member of members) {
    member.socket?.resume();
    if (!member.isOpen) await member.connect(nodes.running[0].port);
  }
  await until(() => members.every((member) => [...member.topics.values()].every(({ isAsked }) => isAsked)), () => 'a subscription is not answered');
  if (!world.isShared) return;
  const [publisher] = members;
  for (const topic of TOPICS) {
    const before = world.confirmed.length;
    const text = publisher.publish(topic);
    const found = () => world.confirmed.slice(before).find((one) => one.text === text);
    await until(() => found() !== undefined, () => `${text} is not confirmed`);
    const { position } = found();
    const isThere = (member) => {
      const state = member.topics.get(topic);
      return state === undefined || (state.last !== null && state.last.epoch === position.epoch && state.last.offset >= position.offset);
    };
    await until(() => members.every((member) => isThere(member) && !member.topics.get(topic)?.isUntold), () => `${topic} is at ${JSON.stringify(position)}, ${JSON.stringify(members.filter((one) => !isThere(one)).map((one) => [one.name, one.topics.get(topic).last]))}`);
  }
}

const wanted = process.argv.slice(2);
let failed = 0;
let passed = 0;
let skipped = 0;
for (const kind of wanted.length === 0 ? Object.keys(BROKERS) : wanted) {
  if (!BROKERS[kind].isThere) {
    console.log(`${kind}: left out, its broker is not installed`);
    skipped++;
    continue;
  }
  try {
    console.log(`${kind}: ${STEPS} steps ${JSON.stringify(await run(kind, SEED))}`);
    passed++;
  } catch (error) {
    console.error(`failed: ${kind}, NODES_SEED=${SEED}: ${error.stack}`);
    failed++;
  }
  for (const undo of teardowns.splice(0).reverse()) await undo();
}
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exit(failed === 0 ? 0 : 1);

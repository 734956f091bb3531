// Presence over several nodes: random programs, after which all nodes and all watchers know the same.
import { once } from 'node:events';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';

import test from 'ava';

import { ownOnly, randomNumbers } from '../helpers/index.mjs';
import { Broker } from '../helpers/memory-broker.mjs';
import { BRIEF, BROKERS, openNode } from '../helpers/nodes.mjs';
import { Replica } from '../helpers/presence.mjs';
import { join } from '../helpers/topics.mjs';

const STEPS = process.env.BYTES === 'all' ? 3000 : 600;
const ROUND = 60;
const ROOMS = ['room', '\ud800'];
const KEYS = Array.from({ length: 12 }, (_, n) => `key ${n}`);
const OPTIONS = { presenceGrace: 5, presenceInterval: 1, presenceLimit: 8 };

/** Keys with their metas, the same text for the same state. */
const textOf = (entries) => JSON.stringify([...entries].map(([key, metas]) => [key, metas.map(String).sort()]).sort());

class World {
  constructor(t, makeAdapter, seed) {
    Object.assign(this, { t, makeAdapter, random: randomNumbers(seed), nodes: [], members: new Set(), watchers: new Set(), said: 0 });
  }

  pick(list) {
    return [...list][this.random([...list].length)];
  }

  async addNode() {
    const { server } = await openNode(this.t, this.makeAdapter(), 0, OPTIONS);
    for (const room of ROOMS) server.presence(room);
    this.nodes.push(server);
  }

  async open() {
    const server = this.pick(this.nodes);
    const member = { ...(await join(this.t, server)), server, present: new Map() };
    this.members.add(member);
    return member;
  }

  enter() {
    const { present, ws } = this.pick(this.members);
    const room = this.pick(ROOMS);
    const entry = { key: this.pick(KEYS), meta: ++this.said };
    ws.enter(room, entry);
    present.set(room, entry);
  }

  leave() {
    const { present, ws } = this.pick(this.members);
    const room = this.pick(ROOMS);
    this.t.is(ws.leave(room), present.delete(room));
  }

  async end() {
    if (this.members.size < 4) return;
    const member = this.pick(this.members);
    this.members.delete(member);
    for (const watcher of this.watchers) if (watcher.ws === member.ws) this.watchers.delete(watcher);
    member.ws.terminate();
  }

  watch() {
    const { client, server, ws } = this.pick(this.members);
    if ([...this.watchers].some((watcher) => watcher.ws === ws)) return;
    const watcher = new Replica({ client, ws });
    watcher.room = this.pick(ROOMS);
    this.watchers.add(watcher);
    server.presence(watcher.room).watch(ws);
  }

  /** A node says good-bye; its connections end. */
  async close() {
    if (this.nodes.length < 3) return;
    const server = this.pick(this.nodes);
    this.nodes.splice(this.nodes.indexOf(server), 1);
    for (const member of this.members) if (member.server === server) this.members.delete(member);
    for (const watcher of this.watchers) if (watcher.ws._owner === server) this.watchers.delete(watcher);
    for (const client of server.clients) client.terminate();
    server.close();
    while (this.members.size < 4) await this.open();
  }

  truth(room) {
    const keys = new Map();
    for (const { present } of this.members) {
      const entry = present.get(room);
      if (entry !== undefined) keys.set(entry.key, [...(keys.get(entry.key) ?? []), entry.meta]);
    }
    return keys;
  }

  /** Until all nodes and watchers know what there is. */
  async agree() {
    const is = (room, entries) => textOf(entries) === textOf(this.truth(room));
    for (const room of ROOMS) {
      for (const server of this.nodes) {
        while (!is(room, server.presence(room).list().map(({ key, metas }) => [key, metas]))) await sleep(1);
      }
    }
    for (const watcher of this.watchers) {
      const { size } = this.truth(watcher.room);
      await watcher.until(({ count, keys }) => count === size && (keys === null || is(watcher.room, keys)));
      this.t.deepEqual(watcher.faults, []);
    }
  }

  async run(disturb) {
    const steps = [...Array(8).fill('enter'), 'leave', 'leave', 'open', 'open', 'end', 'watch', 'disturb'];
    for (let n = 0; n < 3; n++) await this.addNode();
    for (let n = 0; n < 6; n++) await this.open();
    for (let step = 1; step <= STEPS; step++) {
      const what = this.pick(steps);
      if (what === 'disturb') await disturb(this);
      else await this[what]();
      if (this.random(3) === 0) await turn();
      if (step % ROUND === 0) await this.agree();
    }
  }
}

for (const [name, make] of Object.entries({ ...BROKERS, ...BRIEF })) {
  ownOnly(`${name}: all nodes agree, whoever comes and goes`, async (t) => {
    const seed = Date.now() % 1_000_000;
    t.log(`seed ${seed}`);
    const world = new World(t, await make(t), seed);
    await world.run(async () => {
      if (world.random(4) === 0) await world.close();
      else if (world.nodes.length < 4) await world.addNode();
    });
  });
}

ownOnly('all nodes agree, whatever the broker loses or refuses', async (t) => {
  const seed = Date.now() % 1_000_000;
  t.log(`seed ${seed}`);
  const broker = new Broker();
  const world = new World(t, () => broker.adapter(), seed);
  const each = (act) => broker.adapters.forEach(({ node }) => act(node));
  await world.run(async () => {
    const kind = world.random(3);
    if (kind === 0) each((node) => node.report('away'));
    else if (kind === 1) broker.isDeaf = true;
    else broker.beforePublish = () => Promise.reject(new Error('full'));
    for (let n = world.random(20); n > 0; n--) world.pick([() => world.enter(), () => world.leave()])();
    await turn();
    broker.isDeaf = false;
    broker.beforePublish = () => {};
    if (kind === 0) each((node) => node.report('connected'));
    if (kind === 1) each((node) => node.lost());
  });
});

/** Two nodes, and one member of each in the topic. */
async function pair(t, options) {
  const broker = new Broker();
  const nodes = [];
  for (const key of ['ann', 'bob']) {
    const { server, members: [member] } = await openNode(t, broker.adapter(), 1, { ...OPTIONS, presenceGrace: 60_000, ...options });
    member.ws.enter('room', { key });
    nodes.push({ server, member, room: server.presence('room') });
  }
  for (const { room } of nodes) while (room.count !== 2) await turn();
  return { broker, nodes };
}

ownOnly('a node that ends without a word leaves at once when its silence is noticed, and may come back', async (t) => {
  const { broker, nodes: [{ room, server }, other] } = await pair(t);
  const { presence, clusterNode } = server._topics;
  // It stands still: nothing of it comes, and nothing gets to it.
  const [adapter] = [...broker.adapters].filter(({ node }) => node.id === other.server._topics.clusterNode.id);
  broker.adapters.delete(adapter);
  const { publish } = adapter;
  adapter.publish = () => {};
  const { id } = adapter.node;
  t.true(presence.seen.has(id));
  t.is(presence.heartbeatTimer._repeat, 5000);
  presence.heartbeat();
  t.is(room.count, 2);
  const gone = once(server, 'presence');
  presence.seen.set(id, performance.now() - 22_001);
  presence.heartbeat();
  t.deepEqual((await gone)[1], { joins: {}, leaves: ['bob'], count: 1 });
  // It goes on.
  adapter.publish = publish;
  broker.adapters.add(adapter);
  const back = once(server, 'presence');
  other.server._topics.presence.heartbeats = 1;
  other.server._topics.presence.heartbeat();
  t.deepEqual((await back)[1], { joins: { bob: [null] }, leaves: [], count: 2 });
  t.is(clusterNode.counts.ignored, 0);
});

ownOnly('nobody is taken for dead by a node that was away itself', async (t) => {
  const { nodes: [{ room, server }, other] } = await pair(t);
  const { presence, clusterNode } = server._topics;
  const { id } = other.server._topics.clusterNode;
  const age = () => presence.seen.set(id, performance.now() - 100_000);
  age();
  clusterNode.state = 'away';
  presence.heartbeat();
  clusterNode.state = 'connected';
  presence.heartbeat();
  t.is(room.count, 2);
  age();
  presence.heartbeatAt -= 11_000;
  presence.heartbeat();
  t.is(room.count, 2);
});

ownOnly('a user who goes to another node does not leave, even when the first node ends', async (t) => {
  const { nodes: [{ room, server, member }, other] } = await pair(t);
  const changes = [];
  server.on('presence', (_, change) => changes.push(change));
  for (const client of other.server.clients) client.terminate();
  other.server.close();
  await once(other.server, 'close');
  const moved = await join(t, server);
  moved.ws.enter('room', { key: 'bob', meta: 'here' });
  while (room.get('bob')[0] !== 'here') await turn();
  member.ws.leave('room');
  while (!changes.some(({ leaves }) => leaves.includes('ann'))) await turn();
  t.deepEqual(changes.flatMap(({ leaves }) => leaves), ['ann']);
});

for (const count of [1, 70, 1000]) {
  ownOnly(`${count} entries of the largest size come whole to a node that starts later`, async (t) => {
    const broker = new Broker();
    let longest = 0;
    broker.beforePublish = (_, bytes) => void (longest = Math.max(longest, bytes.length));
    const options = { ...OPTIONS, presenceLimit: 2000 };
    const { server, members } = await openNode(t, broker.adapter(), count, options);
    const meta = '"'.repeat(510);
    for (const [n, { ws }] of members.entries()) ws.enter('room', { key: `${n}`.padEnd(256, '€'), meta });
    const late = (await openNode(t, broker.adapter(), 0, options)).server;
    while (late.presence('room').count !== count) await sleep(1);
    t.deepEqual(late.presence('room').list(), server.presence('room').list());
    t.true(longest < 300_000, `${longest}`);
    for (const { ws } of members) ws.terminate();
    while (late.presence('room').count !== 0) await sleep(1);
  });
}

ownOnly('only nodes that want it hear of a topic, and for a minute', async (t) => {
  const { broker, nodes: [one] } = await pair(t);
  const third = await openNode(t, broker.adapter(), 1, OPTIONS);
  const [adapter] = [...broker.adapters].filter(({ node }) => node.id === third.server._topics.clusterNode.id);
  t.deepEqual([...adapter.wanted], []);
  t.is(third.server._topics.presence, null);
  const room = third.server.presence('room');
  while (room.count !== 2) await turn();
  t.deepEqual([...adapter.wanted].sort(), ['\0presence', '\0presence\0room']);
  const { presence } = third.server._topics;
  presence.heartbeat();
  t.is(presence.rooms.size, 1);
  presence.rooms.get('room').usedAt -= 60_001;
  for (; presence.rooms.size !== 0; await turn()) presence.heartbeat();
  while (adapter.wanted.size !== 0) await sleep(10);
  one.member.ws.leave('room');
  while (one.room.count !== 1) await turn();
  t.is(third.server.presence('room').list().length, 0, 'it asks again');
  while (room.count !== 1) await turn();
});

test('what no node says is ignored', async (t) => {
  const { broker, nodes: [{ room, server }] } = await pair(t);
  const said = [Buffer.from([2]), Buffer.from('\u0002{'), Buffer.from('\u0002null'), Buffer.from('\u0002{"n":1}'), Buffer.from([3, 1])];
  const before = server.metrics().adapter.ignored;
  for (const bytes of said) for (const topic of ['\0presence', '\0presence\0room']) broker.deliver(topic, bytes);
  t.is(server.metrics().adapter.ignored, before + 8);
  t.is(room.count, 2);
});

ownOnly('a topic that a node has forgotten, and enters again, is no news of long ago', async (t) => {
  const { broker, nodes: [{ room, server }, other] } = await pair(t);
  const third = await openNode(t, broker.adapter(), 1, OPTIONS);
  third.members[0].ws.enter('room', { key: 'cy' });
  third.members[0].ws.enter('other', { key: 'cy' });
  while (room.count !== 3) await turn();
  third.members[0].ws.leave('room');
  while (room.count !== 2) await turn();
  const { presence } = third.server._topics;
  presence.rooms.get('room').usedAt -= 60_001;
  for (; presence.rooms.has('room'); await turn()) presence.heartbeat();
  third.members[0].ws.enter('room', { key: 'cy', meta: 'again' });
  while (room.count !== 3 || other.room.count !== 3) await sleep(1);
  t.deepEqual(room.get('cy'), ['again']);
  t.is(server._topics.clusterNode.counts.ignored, 0);
});

ownOnly('a part that is lost, and an answer that is lost, are asked for again', async (t) => {
  const broker = new Broker();
  const options = { ...OPTIONS, presenceLimit: 2000 };
  const { members } = await openNode(t, broker.adapter(), 200, options);
  for (const [n, { ws }] of members.entries()) ws.enter('room', { key: `${n}`.padEnd(256, '€'), meta: '"'.repeat(510) });
  await turn();
  let lost = 0;
  const { deliver } = broker;
  broker.deliver = (name, bytes, position) => {
    const { of, p } = bytes[0] === 2 ? JSON.parse(bytes.subarray(1)) : {};
    // A part in the middle, then the whole, then the last part.
    const isLost = (lost === 0 && p === 1) || (lost > 0 && lost <= of) || (lost === of + 1 && p === of - 1);
    if (of > 1 && isLost) return void lost++;
    return deliver.call(broker, name, bytes, position);
  };
  const late = (await openNode(t, broker.adapter(), 0, options)).server.presence('room');
  const seen = new Set();
  while (late.count !== 200) {
    seen.add(late.count);
    await sleep(1);
  }
  t.deepEqual([...seen], [0], 'nothing by half');
  t.true(lost > 3, `${lost}`);
});

ownOnly('the grace time runs out although nobody asks any more', async (t) => {
  const broker = new Broker();
  const { server, members: [{ ws }] } = await openNode(t, broker.adapter(), 1, { ...OPTIONS, presenceGrace: 300 });
  const joined = once(server, 'presence');
  ws.enter('room', { key: 'ann' });
  await joined;
  const gone = once(server, 'presence');
  ws.terminate();
  const { presence } = server._topics;
  while (presence.rooms.get('room').own.size !== 0) await turn();
  presence.rooms.get('room').usedAt -= 60_001;
  presence.heartbeat();
  t.deepEqual((await gone)[1].leaves, ['ann']);
});

for (const adapterLimit of [0, 1, 1000, 100_000]) {
  ownOnly(`adapterLimit ${adapterLimit} bounds messages, not who is present`, async (t) => {
    const broker = new Broker();
    broker.beforePublish = () => turn();
    const options = { ...OPTIONS, adapterLimit, presenceLimit: 2000 };
    const { server, members } = await openNode(t, broker.adapter(), 300, options);
    const other = (await openNode(t, broker.adapter(), 0, options)).server.presence('room');
    for (const [n, { ws }] of members.entries()) {
      ws.enter('room', { key: `${n}`, meta: 'x'.repeat(1000) });
      if (n % 10 === 0) await turn();
    }
    while (other.count !== 300) await sleep(1);
    t.is(server.presence('room').count, 300);
  });
}

ownOnly('a node that does not answer is asked thirty times, then it has nobody, and it is heard again when it speaks', async (t) => {
  const { broker, nodes: [{ room, server }, other] } = await pair(t, { presenceGrace: 5 });
  const { id } = other.server._topics.clusterNode;
  const { peers } = server._topics.presence.rooms.get('room');
  const peer = peers.nodes.get(id);
  let asked = 0;
  const { deliver } = broker;
  broker.deliver = (name, bytes) => {
    const { q } = bytes[0] === 2 ? JSON.parse(bytes.subarray(1)) : {};
    if (q === undefined) return deliver.call(broker, name, bytes);
    return void asked++;
  };
  for (let n = 0; n < 40; n++) {
    peers.request(id, peer);
    clearTimeout(peer.requestTimer);
    peer.requestTimer = undefined;
  }
  while (asked < 30) await turn();
  for (let turns = 0; turns < 10; turns++) await turn();
  t.is(asked, 30);
  while (room.count !== 1) await turn();
  other.member.ws.enter('room', { key: 'bob', meta: 'again' });
  other.server._topics.presence.resync();
  while (room.get('bob')?.[0] !== 'again') await turn();
  t.is(peers.nodes.get(id).requests, 0);
});

for (const isCut of [false, true]) {
  ownOnly(`a node forgets a topic while ${isCut ? 'another node' : 'the broker'} is away: nobody stays in it`, async (t) => {
    const { broker, nodes: [{ room, server }, other] } = await pair(t, { presenceGrace: 5 });
    const [near, far] = [server, other.server].map(({ _topics: { clusterNode } }) => clusterNode);
    const away = isCut ? [near] : [near, far];
    for (const clusterNode of away) {
      broker.adapters.delete(clusterNode.adapter);
      clusterNode.changed('away');
    }
    const { presence } = other.server._topics;
    presence.rooms.get('room').usedAt -= 60_001;
    other.member.ws.leave('room');
    while (presence.rooms.get('room')?.own.size === 1 || presence.rooms.get('room')?.announceTimer !== undefined) await turn();
    await sleep(20);
    t.is(presence.rooms.has('room'), !isCut);
    t.is(room.count, 2);
    for (const clusterNode of away) {
      broker.adapters.add(clusterNode.adapter);
      clusterNode.changed('connected');
      clusterNode.lost();
    }
    const peer = server._topics.presence.rooms.get('room').peers.nodes.get(far.id);
    // The last question, a second later.
    if (isCut) peer.requests = 30;
    while (room.count !== 1) await sleep(5);
    t.deepEqual(room.list().map(({ key }) => key), ['ann']);
  });
}

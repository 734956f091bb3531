// Clients of reactor-ws/client whose connections are cut at random: whatever happens, they miss nothing that they are not
// told of, hear nothing twice, and all in one order.
import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';

import { ownOnly, randomNumbers, startServer } from '../helpers/index.mjs';
import { Broker } from '../helpers/memory-broker.mjs';
import { hasRedis } from '../helpers/redis.mjs';
import { BROKERS } from '../helpers/nodes.mjs';
import { SOCKETS, Truth, addressOf, event, openClient } from '../helpers/topics-clients.mjs';

const CLIENTS = 8;
const CUTS = process.env.BYTES === 'all' ? 20_000 : 2500;
/** `brief` loses messages that are away for long, `plain` all that is published while a client is away. */
const TOPICS = ['brief', 'kept', 'late', 'plain'];
const SETTINGS = {
  kept: { history: 1_000_000 },
  late: { history: 1_000_000, slow: 'catch-up', limit: 4096 },
  brief: { history: 5 },
  plain: {},
};
const options = { topicOptions: (topic) => SETTINGS[topic], historyBudget: 0 };
/** Ends that a client comes back after. */
const CODES = [1001, 1011, 1012, 1013, 3000];

const WAYS = { 'one server': null, ...(hasRedis ? { memory: BROKERS.memory, redis: BROKERS.redis } : { memory: BROKERS.memory }) };

for (const [way, make] of Object.entries(WAYS)) {
  ownOnly(`${way}: ${CUTS} cuts of ${CLIENTS} clients`, async (t) => {
    const seed = Date.now() % 1_000_000;
    t.log(`seed ${seed}`);
    const random = randomNumbers(seed);
    const pick = (list) => list[random(list.length)];
    const adapter = make === null ? null : await make(t);
    const servers = [];
    for (let count = adapter === null ? 1 : 3; count > 0; count--) {
      const server = await startServer(t, { ...options, ...(adapter && { adapter: adapter() }) });
      server.topicsProtocol({ authorize: () => (random(2) === 0 ? true : turn(true)) });
      while (adapter !== null && server.metrics().adapter.state !== 'connected') await once(server, 'adapter');
      servers.push(server);
    }
    const url = () => `ws://127.0.0.1:${pick(servers).address().port}`;
    const truth = new Truth();
    const kinds = Object.values(SOCKETS);
    const members = Array.from({ length: CLIENTS }, (_, index) => {
      const client = openClient(t, random(2) === 0 ? url : async () => url(), { WebSocket: kinds[index % kinds.length] });
      const ears = new Map(TOPICS.map((topic) => [topic, truth.listen(client, `client ${index}`, topic, topic !== 'brief')]));
      return { client, ears };
    });
    const isHeard = (test) => members.every(({ ears }) => TOPICS.every((topic) => test(ears.get(topic), topic)));
    while (!isHeard(({ isIn }) => isIn)) await turn();

    let said = 0;
    const answers = [];
    const counts = Object.fromEntries(TOPICS.map((topic) => [topic, 0]));
    const say = (publish, topic) => {
      counts[topic]++;
      return publish(topic, `"m${++said}"`);
    };
    const steps = [
      () => say((...message) => pick(servers).publish(...message), pick(TOPICS)),
      () => answers.push(say((...message) => pick(members).client.publish(...message), pick(TOPICS.slice(1)))),
    ];
    for (let cuts = 0; cuts < CUTS; ) {
      for (let count = random(4); count > 0; count--) pick(steps)();
      const open = [...pick(servers).clients];
      if (open.length > 0) {
        cuts++;
        const ws = pick(open);
        if (random(2) === 0) ws.terminate();
        else ws.close(pick(CODES), random(4) === 0 ? 'Retry-After: 0' : '');
      }
      for (let count = random(6); count > 0; count--) await turn();
      if (truth.faults.length > 0) break;
    }
    await Promise.all(answers);
    for (const topic of TOPICS) servers[0].publish(topic, '"end"');
    // Those in `plain` and `brief` may be away just then.
    const isEnd = ({ heard }) => heard.at(-1)?.includes('"end"');
    while (!isHeard((ear, topic) => topic === 'plain' || topic === 'brief' || isEnd(ear)) && truth.faults.length === 0) await turn();
    t.deepEqual(truth.faults, []);
    for (const topic of TOPICS) {
      const [{ heard: first }, ...others] = members.map(({ ears }) => ears.get(topic));
      for (const { gaps, heard } of [{ gaps: 0, heard: first }, ...others]) {
        t.is(new Set(heard).size, heard.length, `${topic}: something was heard twice`);
        if (SETTINGS[topic].history !== 1_000_000) continue;
        t.deepEqual([gaps, heard.length], [0, counts[topic] + 1], topic);
        t.deepEqual(heard, first, topic);
      }
    }
    t.log(`messages: ${JSON.stringify(counts)}; gaps in brief: ${members.map(({ ears }) => ears.get('brief').gaps)}`);
  });
}

ownOnly('a client that goes to another node, which is slower, hears no message again', async (t) => {
  const broker = new Broker({ history: false });
  const servers = [];
  for (let count = 3; count > 0; count--) {
    const server = await startServer(t, { adapter: broker.adapter() });
    server.topicsProtocol({ authorize: () => true });
    while (server.metrics().adapter.state !== 'connected') await once(server, 'adapter');
    servers.push(server);
  }
  const [fast, slow, speaker] = servers;
  const late = [];
  const { id } = slow._topics.clusterNode;
  broker.deliver = (name, bytes) => {
    for (const { node, wanted } of broker.adapters) {
      if (!wanted.has(name)) continue;
      if (node.id === id) late.push(() => node.deliver(name, bytes));
      else node.deliver(name, bytes);
    }
  };
  const other = openClient(t, addressOf(slow));
  other.subscribe('plain', () => {});
  await event(other, 'subscribed');
  const places = [fast, slow];
  const client = openClient(t, () => addressOf(places.shift()));
  const heard = [];
  client.subscribe('plain', (data) => heard.push(data));
  await event(client, 'subscribed');
  for (const text of ['1', '2', '3']) speaker.publish('plain', text);
  while (heard.length < 3) await turn();
  for (const ws of fast.clients) ws.terminate();
  await event(client, 'subscribed');
  speaker.publish('plain', '4');
  while (late.length < 4) await turn();
  for (const deliver of late) deliver();
  while (heard.at(-1) !== '4') await turn();
  t.deepEqual(heard, ['1', '2', '3', '4']);
});

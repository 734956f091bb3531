// examples/cluster-chat: nodes are killed while everybody talks, and all hear all of it once, in one order.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

import { Child, ownOnPosix, randomNumbers, test } from '../helpers/index.mjs';
import { hasRedis } from '../helpers/redis.mjs';
import { openClient } from '../helpers/topics-clients.mjs';

const CLIENTS = 6;
const EACH = 150;
const KILLS = 8;

(hasRedis ? ownOnPosix : test.skip)('a killed node loses nobody a message', async (t) => {
  const child = new Child(t, '../../examples/cluster-chat/start.mjs', [], { stdio: ['pipe', 'pipe', 'pipe'], env: { PORT: '0' } });
  let output = '';
  child.process.stdout.on('data', (chunk) => (output += chunk));
  const count = (pattern) => output.match(pattern)?.length ?? 0;
  const until = async (test) => {
    while (!test()) await once(child.process.stdout, 'data');
  };
  const started = /^node \d: http.*$/gm;
  await until(() => count(started) >= 3);
  const ports = output.match(started).map((line) => Number(/\d+$/.exec(line)[0]));
  t.regex(await (await fetch(`http://127.0.0.1:${ports[0]}/`)).text(), /TopicsClient/);
  t.regex(await (await fetch(`http://127.0.0.1:${ports[1]}/client.mjs`)).text(), /export class TopicsClient/);
  t.deepEqual(await (await fetch(`http://127.0.0.1:${ports[2]}/ports`)).json(), (await (await fetch(`http://127.0.0.1:${ports[0]}/ports`)).json()));

  const random = randomNumbers(Date.now() % 1_000_000);
  const gaps = [];
  const members = Array.from({ length: CLIENTS }, (_, index) => {
    const client = openClient(t, () => `ws://127.0.0.1:${ports[random(3)]}`, { minDelay: 5, maxDelay: 100 });
    const heard = [];
    client.addEventListener('gap', ({ from, to }) => gaps.push([index, from, to]));
    client.subscribe('chat', (text) => heard.push(text), { since: 'oldest' });
    return { client, heard };
  });
  let said = 0;
  const talk = async ({ client }, index) => {
    for (let n = 0; n < EACH; n++) {
      const answered = client.publish('chat', `${index}:${n}`);
      // Some wait for the answer before they go on.
      if (index % 2 === 0) await answered;
      else await sleep(random(15));
      said++;
    }
  };
  const kill = async () => {
    for (let n = 0; n < KILLS; n++) {
      const before = count(started);
      while (said < ((n + 1) * CLIENTS * EACH) / (KILLS + 1)) await sleep(5);
      child.process.stdin.write(`${random(3) + 1}\n`);
      await until(() => count(started) > before);
    }
  };
  await Promise.all([kill(), ...members.map(talk)]);
  const isWhole = ({ heard }) => heard.length >= CLIENTS * EACH;
  while (!members.every(isWhole)) await sleep(5);
  const [{ heard }] = members;
  t.deepEqual(gaps, []);
  for (const one of members) t.deepEqual(one.heard, heard);
  for (let index = 0; index < CLIENTS; index++) {
    const own = heard.filter((text) => text.startsWith(`${index}:`));
    t.deepEqual(own, Array.from({ length: EACH }, (_, n) => `${index}:${n}`));
  }
  t.is(count(/has ended/g), KILLS);
  child.process.kill('SIGTERM');
  t.like(await child.ended(), { code: 0, stderr: '' });
});

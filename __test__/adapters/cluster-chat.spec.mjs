// examples/cluster-chat: each node is killed while a client talks, which hears all of it once, in order.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

import { Child, ownOnPosix, test } from '../helpers/index.mjs';
import { hasRedis } from '../helpers/redis.mjs';
import { openClient } from '../helpers/topics-clients.mjs';

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

  const heard = [];
  let turn = 0;
  const client = openClient(t, () => `ws://127.0.0.1:${ports[turn++ % 3]}`, { minDelay: 5, maxDelay: 100 });
  client.addEventListener('gap', ({ from, to }) => t.fail(`${JSON.stringify([from, to])} is missing`));
  client.subscribe('chat', (text) => heard.push(text), { since: 'oldest' });
  const said = [];
  for (let node = 1; node <= 3; node++) {
    child.process.stdin.write(`${node}\n`);
    for (let n = 0; n < 20; n++) {
      said.push(`${node}:${n}`);
      await client.publish('chat', said.at(-1));
    }
    await until(() => count(started) === 3 + node);
  }
  while (heard.length < said.length) await sleep(5);
  t.deepEqual(heard, said);
  t.is(count(/has ended/g), 3);
  child.process.kill('SIGTERM');
  t.like(await child.ended(), { code: 0, stderr: '' });
});

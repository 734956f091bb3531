// clusterAdapter() between workers of node:cluster that share a port, and between threads.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';

import { ownOnly, visitor } from '../helpers/index.mjs';
import { Child } from '../helpers/child.mjs';

/** A client that has been told where it is. */
async function open(t, port) {
  const client = visitor(t, `ws://127.0.0.1:${port}`);
  client.on('error', () => {});
  const heard = [];
  client.on('message', (data) => heard.push(String(data)));
  while (heard.length === 0) await once(client, 'message');
  return { client, heard, place: heard[0] };
}

/** Two clients at each of three workers. */
async function openAll(t, ports) {
  const all = [];
  for (const counts = new Map(); ![...counts.values()].every((count) => count >= 2) || counts.size < 3; ) {
    const one = await open(t, ports[all.length % ports.length]);
    counts.set(one.place, (counts.get(one.place) ?? 0) + 1);
    all.push(one);
  }
  return all;
}

for (const kind of ['cluster', 'threads']) {
  ownOnly(`${kind}: what one worker's client says gets to the clients of all, once`, async (t) => {
    const child = new Child(t, 'topic-workers.mjs', [kind, randomBytes(6).toString('hex')]);
    const ports = JSON.parse(await child.line());
    const all = await openAll(t, ports);
    const texts = all.map((_, n) => `said by ${n}`);
    for (const [n, { client }] of all.entries()) client.send(texts[n]);
    for (const { client, heard } of all) {
      while (!texts.every((text) => heard.includes(text))) await once(client, 'message');
      t.deepEqual(heard.slice(1).sort(), [...texts].sort());
    }
    if (kind !== 'cluster') return;
    const [{ client: doomed, place }] = all;
    const others = all.filter((one) => one.place !== place);
    doomed.send('die');
    await once(doomed, 'close');
    others[0].client.send('after');
    for (const { heard } of others) while (!heard.includes('after')) await turn();
    t.pass();
  });
}

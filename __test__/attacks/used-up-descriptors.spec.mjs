// More connections than the process has descriptors for: connections that are served go on, the
// excess is closed, as in ws, and none waits without an answer. Figures: of 100 connections with
// ten descriptors left, ws opens 10 and closes 90. Without a descriptor in reserve 10 opened and 90
// had no answer after 4 s, nor had any of the next 200.
import { once } from 'node:events';

import { Child, isReference, onPosix, visitor } from '../helpers/index.mjs';

const COUNT = 100;

onPosix('with descriptors used up the excess is closed, and the rest is served', async (t) => {
  const child = new Child(t, 'descriptors.mjs', [isReference ? 'ws' : 'reactor-ws']);
  const port = await child.line(0);
  const open = () => {
    const client = visitor(t, `ws://127.0.0.1:${port}`);
    const settled = new Promise((resolve) => {
      client.once('open', () => resolve('open'));
      client.once('error', () => resolve('closed'));
    });
    return { client, settled };
  };
  const ask = async (client, text) => {
    client.send(text);
    return String((await once(client, 'message'))[0]);
  };

  const canary = open();
  t.is(await canary.settled, 'open');
  t.is(await ask(canary.client, 'take'), 'take');
  const crowd = Array.from({ length: COUNT }, open);
  t.is(await ask(canary.client, 'meanwhile'), 'meanwhile');
  const ends = await Promise.all(crowd.map(({ settled }) => settled));
  const served = crowd.filter((_, index) => ends[index] === 'open');
  t.log(`${served.length} of ${COUNT} open, the others closed`);
  t.true(served.length > 0 && served.length < COUNT);
  for (const { client } of served) t.is(await ask(client, 'hello'), 'hello');

  // All other connections are reported, also those that came within a second of a report.
  let line = 1;
  if (!isReference) {
    let reported = 0;
    while (reported < COUNT - served.length) reported += Number(await child.line(line++));
    t.is(reported, COUNT - served.length);
  }

  t.is(await ask(canary.client, 'free'), 'free');
  const late = open();
  t.is(await late.settled, 'open');
  t.is(await ask(late.client, 'late'), 'late');
  canary.client.send('stop');
  const wanted = isReference ? { warnings: [] } : { warnings: ['REACTOR_WS_EXHAUSTED'], exhausted: COUNT - served.length };
  t.deepEqual(JSON.parse(await child.line(line)), wanted);
  t.is((await child.ended()).code, 0);
});

// A chunk of a stream is read where it is, if nothing speaks against that.
import { once } from 'node:events';
import { Duplex } from 'node:stream';

import { Child, attach, frame, nextEvents, test } from '../helpers/index.mjs';

/** Two ends of which each emits in a write of the other. */
function instant() {
  const ends = [0, 1].map((index) => new Duplex({
    read() {},
    write(chunk, _encoding, done) {
      ends[1 - index].push(Buffer.from(chunk));
      done();
    },
  }));
  return ends;
}

test('a write that brings a chunk takes the place of no record', async (t) => {
  const [near, far] = instant();
  const ws = attach(near);
  const client = attach(far, { isServer: false });
  const seen = [];
  ws.on('message', (data) => {
    ws.send(`${data} back`, () => ws.send(`${data} sent`));
    ws.ping(data);
  });
  ws.on('pong', (data) => seen.push(`pong ${data}`));
  const rest = nextEvents(client, 'message', 100);
  for (let index = 0; index < 50; index++) client.send(`${index}`);
  const texts = (await rest).map(([data]) => `${data}`);
  for (const kind of ['back', 'sent']) {
    t.deepEqual(texts.filter((text) => text.endsWith(kind)), Array.from({ length: 50 }, (_, index) => `${index} ${kind}`));
  }
  t.deepEqual(seen, Array.from({ length: 50 }, (_, index) => `pong ${index}`));
});

test('a message that was read in place is a view of its chunk, and stays as it is', async (t) => {
  const [near] = instant();
  const ws = attach(near);
  const chunk = Buffer.concat([frame(2, 'one'), frame(2, 'two')]);
  const both = nextEvents(ws, 'message', 2);
  near.push(chunk);
  const [[one], [two]] = await both;
  t.is(one.buffer, chunk.buffer);
  const next = once(ws, 'message');
  near.push(frame(2, 'new'));
  t.is(`${(await next)[0]}`, 'new');
  t.deepEqual([`${one}`, `${two}`], ['one', 'two']);
});

test('what the reactor reads in a later turn keeps the process alive', async (t) => {
  const { code, stdout, stderr } = await new Child(t, 'more-than-a-turn.mjs').ended();
  t.is(code, 0, stderr);
  t.deepEqual(stdout.trim().split('\n').map(Number).sort(), [...Array(4).fill(4 << 20), ...Array(4).fill(5)]);
});

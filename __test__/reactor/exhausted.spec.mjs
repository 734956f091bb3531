// A process that has no descriptors left for a reactor serves its WebSockets all the same.
import { once } from 'node:events';

import { Child, openVisitor, test } from '../helpers/index.mjs';

const isPosix = process.platform !== 'win32';
const onPosix = isPosix ? test : test.skip;

/** Clients that come before the next attempt to start a reactor, which is a second later: far more than that. */
const MOST_CLIENTS = 20_000;

async function ask(client, text) {
  client.send(text);
  return (await once(client, 'message'))[0].toString();
}

// R06.
onPosix('the first upgrade may come when no reactor can be started', async (t) => {
  const child = new Child(t, 'exhausted.mjs', []);
  const port = await child.line(0);
  const open = async () => {
    const client = await openVisitor(t, `ws://127.0.0.1:${port}`);
    return client;
  };

  const first = await open();
  t.is(await child.line(1), 'Node');
  t.is(await ask(first, 'hello'), 'hello');
  t.is(await ask(first, 'listen'), 'error');
  t.is(await ask(first, 'free'), 'free');

  // Some time later there is a descriptor.
  for (let line = 2; ; line++) {
    if (line > MOST_CLIENTS) return t.fail('no reactor was started');
    const client = await open();
    const kind = await child.line(line);
    t.is(await ask(client, 'hello'), 'hello');
    client.close();
    await once(client, 'close');
    if (kind === 'reactor') break;
    t.is(kind, 'Node');
  }
  first.close();
  t.like(await child.ended(), { code: 0, stderr: '' });
});

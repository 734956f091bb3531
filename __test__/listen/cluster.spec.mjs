// Workers of a cluster share a port, as they do with any server of Node.
import { once } from 'node:events';

import { Child, isReference, ownOnLinux, test, visitor } from '../helpers/index.mjs';

const STDIO = ['pipe', 'pipe', 'pipe'];
const CONNECTIONS = 10;

async function startCluster(t) {
  const child = new Child(t, 'clustered.mjs', [], { stdio: STDIO });
  const [port, other] = JSON.parse(await child.line(0));
  t.is(port, other);
  return { child, port };
}

test('two workers listen on the same port, and each gets connections', async (t) => {
  const { child, port } = await startCluster(t);
  const clients = [];
  const greetings = new Set();
  // The primary gives the next connection to a free worker: connections that come one after the
  // other go to the workers in turn.
  while (clients.length < CONNECTIONS || greetings.size < 2) {
    const client = visitor(t, `ws://127.0.0.1:${port}`);
    clients.push(client);
    const [greeting] = await once(client, 'message');
    greetings.add(greeting.toString());
    client.send('hello');
    t.is((await once(client, 'message'))[0].toString(), 'hello');
  }
  t.deepEqual([...greetings].map((greeting) => greeting.split(',')[0]).sort(), ['worker 1', 'worker 2']);

  const closed = clients.map((client) => once(client, 'close'));
  child.process.stdin.write('\n');
  for (const [code] of await Promise.all(closed)) t.is(code, 1001);
  t.is(await child.line(1), '[[0,null],[0,null]]');
  t.like(await child.ended(), { code: 0, stderr: '' });
});

for (const [own, declare] of [['exclusive', test], ['reusePort', ownOnLinux]]) {
  declare(`a worker has a port of its own with ${own}: its reactor listens`, async (t) => {
    const child = new Child(t, 'clustered.mjs', [own], { stdio: STDIO });
    const ports = JSON.parse(await child.line(0));
    t.not(ports[0], ports[1]);
    for (const port of ports) {
      const [greeting] = await once(visitor(t, `ws://127.0.0.1:${port}`), 'message');
      if (!isReference) t.regex(greeting.toString(), /by its reactor$/);
    }
    child.process.stdin.write('\n');
    t.is(await child.line(1), '[[0,null],[0,null]]');
  });
}

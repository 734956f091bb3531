// Copies of the package that come and go, as in Jest, which loads it once for each test
// file. Their reactors go with them.
import { once } from 'node:events';

import { Child, openVisitor, ownOnLinuxSerial } from '../helpers/index.mjs';

const ROUNDS = 10;
const GC = { nodeArgs: ['--expose-gc'] };

for (const reactors of [0, 1, 3]) {
  for (const way of ['context', 'cache']) {
    ownOnLinuxSerial(`of ${ROUNDS} copies with ${reactors} reactors nothing is left: ${way}`, async (t) => {
      const child = new Child(t, 'worlds.mjs', [way, reactors, ROUNDS], GC);
      const { code, signal, stdout, stderr } = await child.ended();
      t.deepEqual({ code, signal, stderr }, { code: 0, signal: null, stderr: '' });
      const { first, most, last } = JSON.parse(stdout);
      t.true(most.threads >= reactors && most.files > first.files, stdout);
      t.deepEqual(last, first);
    });
  }

  for (const open of ['a server', 'a server without references', 'a connection without references']) {
    ownOnLinuxSerial(`${open} of a copy that everybody has forgotten is served: ${reactors} reactors`, async (t) => {
      const child = new Child(t, 'forgotten.mjs', [reactors, open], GC);
      const port = await child.line();
      // A connection would keep the copy as well.
      if (open !== 'a connection without references') t.is(await child.line(1), 'true');
      const client = await openVisitor(t, `ws://127.0.0.1:${port}`);
      t.is(await child.line(1), 'true');
      client.send('still there?');
      t.is(String((await once(client, 'message'))[0]), 'still there?');
      client.send('bye');
      await once(client, 'close');
      t.is(await child.line(2), '0');
      t.like(await child.ended(), { code: 0, stderr: '' });
    });
  }
}

// Two copies of the package in one process do not get in each other's way.
import { once } from 'node:events';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Child, test, visitor } from '../helpers/index.mjs';

const LIB = fileURLToPath(new URL('../../lib', import.meta.url));

test('servers and clients of two copies work together, and both have a last word', async (t) => {
  const copy = await mkdtemp(join(tmpdir(), 'copy-'));
  t.teardown(() => rm(copy, { recursive: true }));
  await cp(LIB, copy, { recursive: true });
  const child = new Child(t, 'twofold.mjs', [join(LIB, 'index.js'), join(copy, 'index.js')]);
  for (let line = 0; line < 4; line++) t.is(await child.line(line), 'echo');
  const words = [4, 5].map(async (line) => {
    const client = visitor(t, `ws://127.0.0.1:${await child.line(line)}`);
    const [data] = await once(client, 'message');
    return data.toString();
  });
  t.deepEqual(await Promise.all(words), ['last word', 'last word']);
  t.like(await child.ended(), { code: 0, stderr: '' });
});

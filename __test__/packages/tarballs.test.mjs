// The tarballs in an empty folder, installed by npm, on this Node. The test needs no other package,
// and is part of `npm test -- --all`.
import assert from 'node:assert/strict';
import test from 'node:test';

import { emptyProject, installTarballs, runIn } from './installs.mjs';

test('tarballs: installed, and an echo here, in a module and in a worker', async (t) => {
  const folder = emptyProject(t);
  const started = Date.now();
  await installTarballs(folder);
  assert.equal(await runIn(folder, [process.execPath, 'echo.cjs']), 'echo: hello\n');
  t.diagnostic(`from npm install to the first echo: ${(Date.now() - started) / 1000} s`);
  assert.equal(await runIn(folder, [process.execPath, 'echo.mjs']), 'echo: hello\n');
  assert.equal(await runIn(folder, [process.execPath, 'worker.cjs']), 'echo: hello\necho: hello\n');
});

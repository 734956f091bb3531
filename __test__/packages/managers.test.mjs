// A registry of our own to which all packages are published as for a release, and each package
// manager installing from it; the installed packages, on each Node.
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { after, before } from 'node:test';

import { NPM, emptyProject, runIn } from './installs.mjs';
import { bin, startRegistry } from './registry.mjs';

const node = process.execPath;

/** The command of each one to add a package; `pnp`: the arguments for Node. */
const MANAGERS = {
  npm: { add: [NPM, 'install', '--no-audit', '--no-fund'] },
  pnpm: { add: [bin('pnpm/bin/pnpm.cjs'), 'add', '--store-dir=store'] },
  'yarn 1': { add: [bin('yarn/bin/yarn.js'), 'add', '--cache-folder=cache'] },
  'yarn PnP': { add: [bin('@yarnpkg/cli-dist/bin/yarn.js'), 'add'], nodeArgs: ['--require', './.pnp.cjs'] },
};

/** Arguments for Node that allow only the necessary permissions. */
const PERMITTED = { 20: ['--experimental-permission'], 22: ['--permission'], 24: ['--permission'], 26: ['--permission', '--allow-net'] };

const NODES = ['20', '22', '24', '26'].filter((version) => existsSync(bin(`node-${version}/bin/node`)));

let registry;

before(async () => {
  registry = await startRegistry();
});

after(() => registry.stop());

for (const [name, { add, nodeArgs = [] }] of Object.entries(MANAGERS)) {
  test(`managers: ${name}`, async (t) => {
    const folder = emptyProject(t);
    registry.configure(folder);
    writeFileSync(join(folder, 'yarn.lock'), '');
    const started = Date.now();
    await runIn(folder, [node, ...add, 'reactor-ws']);
    assert.equal(await runIn(folder, [node, ...nodeArgs, 'echo.cjs']), 'echo: hello\n');
    t.diagnostic(`${name}: from install to the first echo ${(Date.now() - started) / 1000} s`);
    for (const version of NODES) {
      const program = bin(`node-${version}/bin/node`);
      const permitted = [...PERMITTED[version], '--allow-addons', '--allow-fs-read=*'];
      const ways = [['echo.cjs'], ['worker.cjs'], [...permitted, 'echo.cjs']];
      for (const way of ways) {
        const output = await runIn(folder, [program, ...nodeArgs, ...way]);
        assert.match(output, /^(echo: hello\n){1,2}$/, `${version} ${way.join(' ')}`);
      }
    }
    t.diagnostic(`${name}: echo, worker and --permission on Node ${NODES.join(', ')}`);
  });
}

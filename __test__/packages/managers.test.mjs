// A registry of our own to which all packages are published as for a release, and each package
// manager installing from it; the installed packages, on each Node.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';

import { NPM, emptyProject, runIn } from './installs.mjs';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const bin = (path) => join(HERE, 'node_modules', path);
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

let child;
let registry;
const storage = mkdtempSync(join(tmpdir(), 'reactor-ws-registry-'));

before(async () => {
  const port = await freePort();
  registry = `http://127.0.0.1:${port}/`;
  const packages = { '**': { access: '$all', publish: '$all' } };
  const config = { storage, packages, log: { type: 'stdout', format: 'pretty', level: 'error' } };
  writeFileSync(join(storage, 'config.yaml'), JSON.stringify(config));
  const verdaccio = bin('verdaccio/bin/verdaccio');
  child = spawn(node, [verdaccio, '--config', join(storage, 'config.yaml'), '--listen', `127.0.0.1:${port}`]);
  while ((await fetch(registry).catch(() => null)) === null) await new Promise((resolve) => setTimeout(resolve, 50));
  // npm requires a login; the registry checks none.
  writeFileSync(join(storage, 'npmrc'), `//127.0.0.1:${port}/:_authToken=trial\n`);
  const publish = fileURLToPath(new URL('../../scripts/release/publish.mjs', import.meta.url));
  const env = { NPM_CONFIG_USERCONFIG: join(storage, 'npmrc'), PATH: process.env.PATH };
  await runIn(storage, [node, publish, '--registry', registry], env);
  // Published packages are left unchanged.
  assert.match(await runIn(storage, [node, publish, '--registry', registry], env), /^reactor-ws@\S+ is published$/m);
});

after(async () => {
  child.kill();
  await once(child, 'exit');
  rmSync(storage, { force: true, recursive: true });
});

for (const [name, { add, nodeArgs = [] }] of Object.entries(MANAGERS)) {
  test(`managers: ${name}`, async (t) => {
    const folder = emptyProject(t);
    configure(folder);
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

test('managers: pnpm: an override in pnpm-workspace.yaml puts reactor-ws in the place of ws in libraries', async (t) => {
  const folder = emptyProject(t);
  configure(folder);
  const library = join(folder, 'library');
  mkdirSync(library);
  writeFileSync(join(library, 'package.json'), JSON.stringify({ name: 'library', version: '1.0.0', dependencies: { ws: '^8.0.0' } }));
  writeFileSync(join(library, 'index.js'), '');
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies: { library: 'file:library' } }));
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  writeFileSync(join(folder, 'pnpm-workspace.yaml'), `overrides:\n  ws: npm:reactor-ws@^${version}\n`);
  await runIn(folder, [node, bin('pnpm/bin/pnpm.cjs'), 'install', '--store-dir=store']);
  const document = readFileSync(new URL('../../docs/migrating-from-ws.md', import.meta.url), 'utf8');
  const [, expression] = /node -p "(.*)"/.exec(document);
  assert.equal(await runIn(folder, [node, '-p', expression.replace('some-library', 'library')]), 'true\n');
});

/** Settings: the registry, and that packages which are minutes old may be installed. */
function configure(folder) {
  writeFileSync(join(folder, '.npmrc'), `registry=${registry}\nminimum-release-age=0\n`);
  const yarn = { npmRegistryServer: registry, unsafeHttpWhitelist: ['127.0.0.1'], npmMinimalAgeGate: 0 };
  writeFileSync(join(folder, '.yarnrc.yml'), JSON.stringify({ ...yarn, enableGlobalCache: false, enableTelemetry: false }));
  writeFileSync(join(folder, 'yarn.lock'), '');
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

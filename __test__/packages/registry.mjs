// A registry of our own, to which all packages are published as for a release.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { NPM, runIn } from './installs.mjs';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const PUBLISH = fileURLToPath(new URL('../../scripts/release/publish.mjs', import.meta.url));
const node = process.execPath;

/** The path of a file in the packages of these tests. */
export const bin = (path) => join(HERE, 'node_modules', path);

/**
 * Starts it, with the packed packages and the packages in `folders`.
 *
 * @param {string[]} [folders]
 */
export async function startRegistry(folders = []) {
  const storage = mkdtempSync(join(tmpdir(), 'reactor-ws-registry-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const config = { storage, packages: { '**': { access: '$all', publish: '$all' } }, log: { type: 'stdout', format: 'pretty', level: 'error' } };
  writeFileSync(join(storage, 'config.yaml'), JSON.stringify(config));
  const child = spawn(node, [bin('verdaccio/bin/verdaccio'), '--config', join(storage, 'config.yaml'), '--listen', `127.0.0.1:${port}`]);
  while ((await fetch(url).catch(() => null)) === null) await new Promise((resolve) => setTimeout(resolve, 50));
  // npm requires a login; the registry checks none.
  writeFileSync(join(storage, 'npmrc'), `//127.0.0.1:${port}/:_authToken=trial\n`);
  const env = { NPM_CONFIG_USERCONFIG: join(storage, 'npmrc'), PATH: process.env.PATH };
  const publish = () => runIn(storage, [node, PUBLISH, '--registry', url, '--direct'], env);
  await publish();
  // Published packages are left unchanged.
  assert.match(await publish(), /^reactor-ws@\S+ is published$/m);
  for (const folder of folders) await runIn(storage, [node, NPM, 'publish', folder, '--ignore-scripts', '--registry', url], env);
  const stop = async () => {
    child.kill();
    await once(child, 'exit');
    rmSync(storage, { force: true, recursive: true });
  };
  return { configure: (folder, settings) => configure(folder, url, settings), stop, url };
}

/** Settings: the registry, and that packages which are minutes old may be installed. `settings`: more of Yarn's. */
function configure(folder, url, settings = {}) {
  writeFileSync(join(folder, '.npmrc'), `registry=${url}\nminimum-release-age=0\n`);
  const yarn = { npmRegistryServer: url, unsafeHttpWhitelist: ['127.0.0.1'], npmMinimalAgeGate: 0, ...settings };
  writeFileSync(join(folder, '.yarnrc.yml'), JSON.stringify({ ...yarn, enableGlobalCache: false, enableTelemetry: false }));
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

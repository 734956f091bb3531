// An override that puts reactor-ws in the place of `ws`, by each package manager: the lines of docs/migrating-from-ws.md, and what
// `reactor-ws doctor` says before and after.
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';

import { NPM, emptyProject, runIn } from './installs.mjs';
import { bin, startRegistry } from './registry.mjs';

const node = process.execPath;
const REPOSITORY = fileURLToPath(new URL('../../', import.meta.url));
const { version } = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8'));
const SPEC = `npm:reactor-ws@^${version}`;

/** What depends on `ws`, by itself and as a peer. */
const USES = { library: '^1.0.0', peered: '^1.0.0' };
/** The direct dependency, which each package manager needs beside its override. */
const dependencies = { ...USES, ws: SPEC };
const overrides = { ws: SPEC };

/**
 * As in docs/migrating-from-ws.md. `run`: the command before `reactor-ws doctor`. `half`: who has `ws` without the override; `left`: with it.
 *
 * @type {Record<string, { install: string[], run: string[], fields?: object, files?: Record<string, string>, settings?: Record<string, string>, half: string[], left?: string[] }>}
 */
const MANAGERS = {
  npm: { install: [node, NPM, 'install', '--no-audit', '--no-fund'], run: [node, NPM, 'exec', '--yes', '--', 'reactor-ws'], fields: { overrides: { ws: '$ws' } }, half: ['app', 'library', 'peered'] },
  'pnpm 10': pnpm([node, bin('pnpm/bin/pnpm.cjs')]),
  'pnpm 12': pnpm([bin('@pnpm/exe.linux-x64/pnpm')]),
  'Yarn 1': yarn([node, bin('yarn/bin/yarn.js')], ['--cache-folder=cache']),
  'Yarn 4': { ...yarn([node, bin('@yarnpkg/cli-dist/bin/yarn.js')]), settings: { nodeLinker: 'node-modules' } },
  "Yarn 4, Plug'n'Play": yarn([node, bin('@yarnpkg/cli-dist/bin/yarn.js')]),
  Bun: { install: [bin('@oven/bun-linux-x64/bin/bun'), 'install'], run: [bin('@oven/bun-linux-x64/bin/bun'), 'run', 'reactor-ws'], fields: { overrides }, half: ['library'] },
  Deno: {
    install: [bin('@deno/linux-x64-glibc/deno'), 'install', '--quiet', '--minimum-dependency-age=0'],
    run: [bin('@deno/linux-x64-glibc/deno'), 'run', '--quiet', '--allow-all', 'node_modules/ws/lib/doctor/main.js'],
    fields: { overrides },
    half: ['library', 'peered'],
    // It overrides no peers.
    left: ['peered'],
  },
};

function pnpm(command) {
  const files = { 'pnpm-workspace.yaml': `overrides:\n  ws: ${SPEC}\nminimumReleaseAge: 0\n` };
  return { install: [...command, 'install', '--store-dir=store', '--no-frozen-lockfile'], run: [...command, 'exec', 'reactor-ws'], files, half: ['library'] };
}

function yarn(command, flags = []) {
  return { install: [...command, 'install', ...flags], run: [...command, 'run', 'reactor-ws'], fields: { resolutions: overrides }, half: ['library'] };
}

let registry;
const staged = mkdtempSync(join(tmpdir(), 'reactor-ws-libraries-'));

before(async () => {
  const library = (name, fields) => {
    const folder = join(staged, name);
    mkdirSync(folder);
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, version: '1.0.0', ...fields }));
    writeFileSync(join(folder, 'index.js'), "module.exports = require('ws').emitUpgrades === undefined ? 'ws' : 'reactor-ws';\n");
    return folder;
  };
  cpSync(join(REPOSITORY, 'node_modules/ws'), join(staged, 'ws'), { recursive: true });
  registry = await startRegistry([
    join(staged, 'ws'),
    library('library', { dependencies: { ws: '^8.0.0' } }),
    library('peered', { peerDependencies: { ws: '^8.0.0' } }),
  ]);
});

after(async () => {
  await registry.stop();
  rmSync(staged, { force: true, recursive: true });
});

for (const [name, manager] of Object.entries(MANAGERS)) {
  const isThere = existsSync(manager.install.find((word) => word.startsWith(bin('')) || word === NPM));
  test(`overrides: ${name}`, { skip: !isThere && 'not for this system' }, async (t) => {
    const { fields = {}, files = {}, half, left = [] } = manager;
    const [alone, whole] = [projectOf(t, manager, { dependencies }), projectOf(t, manager, { dependencies, ...fields }, files)];

    // The alias by itself: what else asks for `ws` gets `ws`.
    const { code, report } = await doctorIn(alone, manager);
    assert.equal(code, 1);
    assert.deepEqual(withWs(report), half);
    assert.equal(report.problems.length, 1);

    const { code: its, report: mended } = await doctorIn(whole, manager);
    assert.deepEqual(withWs(mended), left);
    assert.equal(its, left.length === 0 ? 0 : 1, JSON.stringify(mended.problems));
    t.diagnostic(`${name}: ${mended.ws.dependants.map((one) => `${one.name} ${one.gets.name}`).join(', ')}`);
  });
}

test('overrides: npm: EOVERRIDE, where the direct dependency is another one', async (t) => {
  const folder = projectOf(t, MANAGERS.npm, { dependencies: { ...USES, ws: '^8.0.0' }, overrides });
  await assert.rejects(runIn(folder, MANAGERS.npm.install), /EOVERRIDE/);
});

/** How a program is started on Node, and the flag. `import` knows Plug'n'Play only in projects of ES modules, and hooks in a thread of their own, as in Node 20, do not. */
const STARTS = {
  npm: [[node], '--import'],
  'pnpm 10': [[node], '--import'],
  "Yarn 4, Plug'n'Play": [[bin('node-22/bin/node'), bin('@yarnpkg/cli-dist/bin/yarn.js'), 'node'], '--require'],
};
for (const [name, [command, flag]] of Object.entries(STARTS)) {
  test(`reactor-ws/register in place of an override: ${name}`, { skip: !existsSync(command[0]) && 'not for this system' }, async (t) => {
    const folder = projectOf(t, MANAGERS[name], { dependencies: { ...USES, 'reactor-ws': version, ws: '^8.0.0' } });
    await install(folder, MANAGERS[name]);
    const program = ['-p', "[require('library'), require('peered')].join()"];
    assert.match(await runIn(folder, [...command, ...program]), /^ws,ws$/m);
    assert.match(await runIn(folder, [...command, flag, 'reactor-ws/register', ...program]), /^reactor-ws,reactor-ws$/m);
  });
}

test('overrides: Bun itself has a ws of its own', { skip: !existsSync(MANAGERS.Bun.install[0]) && 'not for this system' }, async (t) => {
  const folder = projectOf(t, MANAGERS.Bun, { dependencies, overrides });
  const [bun] = MANAGERS.Bun.install;
  const { code, report } = await doctorIn(folder, { ...MANAGERS.Bun, run: [bun, 'node_modules/ws/lib/doctor/main.js'] });
  assert.equal(code, 1);
  assert.match(report.problems[0].what, /^Bun has a ws of its own/);
  assert.equal(await runIn(folder, [bun, '-p', "require('library')"]), 'ws\n');
});

/** A folder in which it has nothing but a package.json, and files. */
function projectOf(t, { settings = {} }, manifest, files = {}) {
  const folder = emptyProject(t);
  registry.configure(folder, settings);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'app', private: true, ...manifest }));
  for (const [path, content] of Object.entries(files)) writeFileSync(join(folder, path), content);
  return folder;
}

/** Its result: the environment for commands in the folder. */
async function install(folder, { install: command }) {
  // The commands that pnpm makes are shell scripts with sed and others.
  const env = { DENO_DIR: join(folder, 'deno'), NPM_CONFIG_REGISTRY: registry.url, PATH: `${join(folder, 'bin')}:/usr/bin:/bin` };
  // Yarn takes a folder without a lock file for a part of a project above it.
  if (command.some((word) => word.includes('yarn'))) writeFileSync(join(folder, 'yarn.lock'), '');
  await runIn(folder, command, env);
  return env;
}

/** Installs, and runs `reactor-ws doctor --json`. */
async function doctorIn(folder, manager) {
  const env = await install(folder, manager);
  const { code = 0, stdout, stderr = '' } = await runIn(folder, [...manager.run, 'doctor', '--json'], env).then((output) => ({ stdout: output }), (error) => error);
  assert.ok(stdout.includes('{'), `${code}: ${stdout}${stderr}`);
  return { code, report: JSON.parse(stdout.slice(stdout.indexOf('{'), stdout.lastIndexOf('}') + 1)) };
}

/** Names of those that have `ws`, sorted. */
function withWs(report) {
  return report.ws.dependants.filter(({ gets }) => gets?.name === 'ws').map((one) => one.name).sort();
}

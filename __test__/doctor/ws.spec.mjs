// reactor-ws doctor: which `ws` each package of a project has. `npm run test:packages` does it with package managers.
import { join } from 'node:path';

import test from 'ava';

import { doctor, project, runDoctor } from './project.mjs';

const REAL = { name: 'ws', version: '8.23.0' };
const OURS = { name: 'reactor-ws', version: '8.0.0' };
const LIBRARY = { name: 'library', version: '1.2.3', dependencies: { ws: '^8.0.0' } };
const OTHER = { name: '@scope/other', version: '4.5.6', peerDependencies: { ws: '7 || 8' } };
const USES_BOTH = { dependencies: { library: '^1.0.0', '@scope/other': '^4.0.0' } };
const ALIAS = 'npm:reactor-ws@^8.0.0';
const OVERRIDDEN = { dependencies: { ...USES_BOTH.dependencies, ws: ALIAS }, overrides: { ws: '$ws' } };

/** A project with both libraries, whose `ws` is that. `more`: further files, the lock file among them. */
const flat = (manifest, ws, more = { 'package-lock.json': '{}' }) => ({
  'package.json': manifest,
  'node_modules/library/package.json': LIBRARY,
  'node_modules/@scope/other/package.json': OTHER,
  'node_modules/ws/package.json': ws,
  ...more,
});

/** What each dependant gets, by name. */
const got = (report) => Object.fromEntries(report.ws.dependants.map(({ name, gets }) => [name, gets && `${gets.name} ${gets.version}`]));

test('overridden: each library has reactor-ws', async (t) => {
  const folder = await project(t, flat({ name: 'app', ...OVERRIDDEN }, OURS));
  const { code, report } = await doctor(folder);
  t.is(code, 0);
  t.is(report.ws.ours, 'all');
  t.deepEqual(got(report), { app: 'reactor-ws 8.0.0', library: 'reactor-ws 8.0.0', '@scope/other': 'reactor-ws 8.0.0' });
  t.deepEqual(report.notes.filter(({ check }) => check === 'ws'), []);
});

test('not overridden: a note, with the override of the package manager', async (t) => {
  for (const [lock, remedy] of [
    ['package-lock.json', /"overrides": \{ "ws": "\$ws" \}.*npm install$/],
    ['pnpm-lock.yaml', /pnpm-workspace\.yaml.*pnpm install$/],
    ['yarn.lock', /"resolutions".*yarn install$/],
    ['bun.lock', /"overrides".*bun install$/],
    ['deno.lock', /deno install$/],
  ]) {
    const { code, report } = await doctor(await project(t, flat(USES_BOTH, REAL, { [lock]: '{}' })));
    t.is(code, 0, lock);
    t.is(report.ws.ours, 'none');
    const [{ what, remedy: its }] = report.notes.filter(({ check }) => check === 'ws');
    t.regex(what, /^2 of 2 that depend on ws have ws and not reactor-ws: library \(ws 8\.23\.0\), @scope\/other \(ws 8\.23\.0\)$/);
    t.regex(its, remedy);
  }
});

test('half: a library with a ws of its own is named, and it is a problem', async (t) => {
  const nested = { 'package-lock.json': '{}', 'node_modules/library/node_modules/ws/package.json': REAL };
  const folder = await project(t, flat({ name: 'app', ...OVERRIDDEN }, OURS, nested));
  const { code, report } = await doctor(folder);
  t.is(code, 1);
  t.is(report.ws.ours, 'some');
  t.deepEqual(got(report), { app: 'reactor-ws 8.0.0', library: 'ws 8.23.0', '@scope/other': 'reactor-ws 8.0.0' });
  const [{ what, remedy }] = report.problems;
  t.regex(what, /^1 of 3 .*: library \(ws 8\.23\.0\)$/);
  t.regex(remedy, /^the override is there, but not what is installed: remove node_modules and package-lock\.json/);
  const { stdout } = await runDoctor(folder, ['doctor']);
  t.true(stdout.includes(`library 1.2.3: ws 8.23.0, ${join(folder, 'node_modules/library/node_modules/ws')}`), stdout);
});

test('half: only the direct dependency is an alias', async (t) => {
  const manifest = { name: 'app', dependencies: OVERRIDDEN.dependencies };
  const nested = { 'package-lock.json': '{}', 'node_modules/library/node_modules/ws/package.json': REAL };
  const { code, report } = await doctor(await project(t, flat(manifest, OURS, nested)));
  t.is(code, 1);
  t.regex(report.problems[0].remedy, /^write .*"overrides": \{ "ws": "\$ws" \}/);
});

test('an alias in whose place npm has put ws', async (t) => {
  const { code, report } = await doctor(await project(t, flat({ name: 'app', dependencies: OVERRIDDEN.dependencies }, REAL)));
  t.is(code, 1);
  t.is(report.ws.ours, 'none');
  t.regex(report.problems[0].remedy, /^write .*"overrides": \{ "ws": "\$ws" \}/);
});

for (const [title, manifest, files, remedy] of [
  ['pnpm 11 does not read pnpm.overrides', { pnpm: { overrides: { ws: ALIAS } } }, { 'pnpm-lock.yaml': '', 'node_modules/.modules.yaml': '{"packageManager":"pnpm@11.2.0"}' }, /^pnpm does not read pnpm\.overrides in \S+package\.json; write "dependencies".* and "overrides:" .*pnpm-workspace\.yaml/],
  ['pnpm 10 does', { pnpm: { overrides: { ws: ALIAS } } }, { 'pnpm-lock.yaml': '', 'node_modules/.modules.yaml': 'packageManager: pnpm@10.2.0' }, /^the override is there, but not what is installed: write "dependencies".*pnpm install$/],
  ['pnpm does not read overrides of npm', OVERRIDDEN, { 'pnpm-lock.yaml': '' }, /^pnpm does not read overrides in \S+package\.json; /],
  ['pnpm reads pnpm-workspace.yaml', {}, { 'pnpm-lock.yaml': '', 'pnpm-workspace.yaml': `packages:\n  - .\noverrides:\n  # why\n  'ws': "${ALIAS}" # all\nother: 1\n` }, /^the override is there, but not what is installed/],
  ['npm does not read resolutions', { resolutions: { ws: ALIAS } }, { 'package-lock.json': '{}' }, /^npm does not read resolutions in \S+package\.json; write "dependencies"/],
  ['Yarn does', { resolutions: { '**/ws': ALIAS } }, { 'yarn.lock': '' }, /^the override is there, but not what is installed: run: yarn install$/],
  ['Yarn does not read overrides', OVERRIDDEN, { 'yarn.lock': '' }, /^yarn does not read overrides in \S+package\.json; write "dependencies".*"resolutions"/],
]) {
  test(`an override without effect: ${title}`, async (t) => {
    const dependencies = { ...USES_BOTH.dependencies, ...manifest.dependencies };
    const { code, report } = await doctor(await project(t, flat({ ...manifest, dependencies }, REAL, files)));
    t.is(code, 1);
    t.is(report.ws.ours, 'none');
    t.is(report.problems.length, 1);
    t.regex(report.problems[0].remedy, remedy);
  });
}

test('Bun has a ws of its own: a note for a program on Node', async (t) => {
  const { code, report } = await doctor(await project(t, flat({ name: 'app', ...OVERRIDDEN }, OURS, { 'bun.lock': '{}' })));
  t.is(code, 0);
  t.regex(report.notes.find(({ check }) => check === 'ws').what, /^Bun has a ws of its own/);
});

test('an override with another version of ws asks for nothing of ours', async (t) => {
  const { code, report } = await doctor(await project(t, flat({ ...USES_BOTH, overrides: { ws: '^8.21.0' } }, REAL)));
  t.is(code, 0);
  t.is(report.ws.overrides.length, 1);
});

test('folders as pnpm links them: a library of a library', async (t) => {
  const folder = await project(t, {
    'package.json': { name: 'app', dependencies: { outer: '1' } },
    'pnpm-lock.yaml': '',
    'node_modules/.pnpm/outer@1/node_modules/outer/package.json': { name: 'outer', version: '1.0.0', dependencies: { library: '1' } },
    'node_modules/.pnpm/outer@1/node_modules/library': { link: '../../library@1/node_modules/library' },
    'node_modules/.pnpm/library@1/node_modules/library/package.json': LIBRARY,
    'node_modules/.pnpm/library@1/node_modules/ws': { link: '../../reactor-ws@8/node_modules/reactor-ws' },
    'node_modules/.pnpm/reactor-ws@8/node_modules/reactor-ws/package.json': OURS,
    // Left over from an earlier install, and of no use to the project.
    'node_modules/.pnpm/old@1/node_modules/old/package.json': { ...LIBRARY, name: 'old' },
    'node_modules/.pnpm/old@1/node_modules/ws/package.json': REAL,
    'node_modules/outer': { link: '.pnpm/outer@1/node_modules/outer' },
  });
  const { code, report } = await doctor(folder);
  t.is(code, 0);
  t.is(report.ws.ours, 'all');
  t.deepEqual(report.ws.dependants.map(({ name, via }) => [name, via]), [['library', ['outer', 'library']]]);
});

test('a workspace: its packages are examined from the root, and its override from a package', async (t) => {
  const folder = await project(t, {
    'package.json': { private: true, workspaces: ['packages/*'], overrides: { ws: ALIAS } },
    'package-lock.json': {},
    'packages/chat/package.json': { name: 'chat', version: '1.0.0', devDependencies: { library: '1' } },
    'node_modules/chat': { link: '../packages/chat' },
    'node_modules/library/package.json': LIBRARY,
    'node_modules/ws/package.json': OURS,
  });
  for (const from of [folder, join(folder, 'packages/chat')]) {
    const { code, report } = await doctor(from);
    t.is(code, 0);
    t.deepEqual(got(report), { library: 'reactor-ws 8.0.0' });
    t.is(report.ws.overrides.length, 1);
  }
});

test('ws by another name, an optional peer that is missing, and packages with a copy of ws', async (t) => {
  const folder = await project(t, {
    // What the project itself asks for by another name is no mistake.
    'package.json': { dependencies: { ws: ALIAS, 'real-ws': 'npm:ws@8', library: '1', crossws: '0.4' } },
    'package-lock.json': {},
    'node_modules/ws/package.json': OURS,
    'node_modules/real-ws/package.json': REAL,
    'node_modules/library/package.json': { name: 'library', version: '1.2.3', dependencies: { 'old-ws': 'npm:ws@7' } },
    'node_modules/old-ws/package.json': { name: 'ws', version: '7.5.0' },
    'node_modules/crossws/package.json': { name: 'crossws', version: '0.4.17' },
  });
  const { code, report } = await doctor(folder);
  t.is(code, 1);
  t.regex(report.problems[0].what, /^1 of 2 .*: library \(ws 7\.5\.0\)$/);
  t.is(report.ws.dependants[0].name, 'this project');
  t.regex(report.notes.find(({ check }) => check === 'ws').what, /^crossws has a copy of ws in its own files/);

  const alone = await project(t, { 'package.json': { dependencies: { '@scope/other': '4' } }, 'node_modules/@scope/other/package.json': OTHER });
  const { code: its, report: theirs } = await doctor(alone);
  t.is(its, 0);
  t.is(theirs.ws.ours, 'unused');
  t.deepEqual(got(theirs), { '@scope/other': null });
});

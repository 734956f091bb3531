// reactor-ws doctor: which `ws` each package of a project has. `npm run test:packages` does it with package managers.
import { createRequire } from 'node:module';

import test from 'ava';

import { doctor, project, runDoctor } from './project.mjs';

const { isBelow8 } = createRequire(import.meta.url)('../../lib/base/ws-range.js');
const REAL = { name: 'ws', version: '8.23.0' };
const OURS = { name: 'reactor-ws', version: '8.0.0' };
const LIBRARY = { name: 'library', version: '1.2.3', dependencies: { ws: '^8.0.0' } };
const OTHER = { name: '@scope/other', version: '4.5.6', peerDependencies: { ws: '7 || 8' } };
const USES_BOTH = { library: '^1.0.0', '@scope/other': '^4.0.0' };
const ALIASED = { name: 'app', dependencies: { ...USES_BOTH, ws: 'npm:reactor-ws@^8.0.0' } };

/** A project with both libraries, whose `ws` is that. */
const flat = (manifest, ws, more = {}) => ({
  'package.json': manifest,
  'node_modules/library/package.json': LIBRARY,
  'node_modules/library/index.js': '',
  'node_modules/@scope/other/package.json': { ...OTHER, exports: './index.js' },
  'node_modules/@scope/other/index.js': '',
  'node_modules/ws/package.json': ws,
  ...more,
});

/** What each dependant gets, by name. */
const got = (report) => Object.fromEntries(report.ws.dependants.map(({ name, gets }) => [name, gets && `${gets.name} ${gets.version}`]));

test('overridden: each library has reactor-ws', async (t) => {
  const { code, report } = await doctor(await project(t, flat(ALIASED, OURS)));
  t.is(code, 0);
  t.deepEqual(got(report), { app: 'reactor-ws 8.0.0', library: 'reactor-ws 8.0.0', '@scope/other': 'reactor-ws 8.0.0' });
  t.deepEqual(report.notes.filter(({ check }) => check === 'ws'), []);
});

test('not overridden: a note, with what reactor-ws/register reaches', async (t) => {
  const old = { 'node_modules/old/package.json': { name: 'old', dependencies: { ws: '^7.2.1' } } };
  const { code, report } = await doctor(await project(t, flat({ dependencies: { ...USES_BOTH, old: '1' } }, REAL, old)));
  t.is(code, 0);
  const [{ what, remedy }] = report.notes.filter(({ check }) => check === 'ws');
  t.is(what, '3 of 3 that depend on ws have ws and not reactor-ws: library (ws 8.23.0), @scope/other (ws 8.23.0), old (ws 8.23.0)');
  t.regex(remedy, /^to try it .* node --import reactor-ws\/register, which leaves theirs to packages that ask for less than 8: old \(\^7\.2\.1\); to keep it: write the override/);
});

test('half: a library with a ws of its own is named, and it is a problem', async (t) => {
  const folder = await project(t, flat(ALIASED, OURS, { 'node_modules/library/node_modules/ws/package.json': REAL }));
  const { code, report } = await doctor(folder);
  t.is(code, 1);
  t.deepEqual(got(report), { app: 'reactor-ws 8.0.0', library: 'ws 8.23.0', '@scope/other': 'reactor-ws 8.0.0' });
  t.is(report.problems[0].what, '1 of 3 that depend on ws have ws and not reactor-ws: library (ws 8.23.0)');
  const { stdout } = await runDoctor(folder, ['doctor']);
  t.regex(stdout, /library 1\.2\.3 ws 8\.23\.0, .*library.node_modules.ws/);
});

test('an alias in whose place npm has put ws is a problem', async (t) => {
  t.is((await doctor(await project(t, flat(ALIASED, REAL)))).code, 1);
});

test('a library that is made for ws 7 gets a note', async (t) => {
  const old = { 'node_modules/library/package.json': { ...LIBRARY, dependencies: { ws: '^7.2.1' } } };
  const { code, report } = await doctor(await project(t, flat(ALIASED, OURS, old)));
  t.is(code, 0);
  t.like(report.notes.filter(({ check }) => check === 'ws'), [{ what: 'library asks for ws ^7.2.1, and is made for ws 7: text comes as a Buffer, as from ws 8' }]);
  for (const range of ['7', '~7.4', '^6.0.0 || ^7.5', '>=6 <8', '<8.0.0 >=7', 'npm:ws@7.5.1', '7.x']) t.true(isBelow8(range), range);
  for (const range of ['*', '', 'latest', '>=7', '>=7.0.0 <9', '7 || 8', '^8.18.0', 'npm:reactor-ws@^8', 'workspace:*']) t.false(isBelow8(range), range);
});

test('folders as pnpm links them; a ws by another name; a peer that is missing; from a folder below', async (t) => {
  const folder = await project(t, {
    // What the project itself asks for by another name is no mistake.
    'package.json': { name: 'app', dependencies: { outer: '1', 'real-ws': 'npm:ws@8', peered: '1' } },
    'src/index.js': '',
    'node_modules/.pnpm/outer@1/node_modules/outer/package.json': { name: 'outer', version: '1.0.0', dependencies: { library: '1' } },
    'node_modules/.pnpm/outer@1/node_modules/library': { link: '../../library@1/node_modules/library' },
    'node_modules/.pnpm/library@1/node_modules/library/package.json': { name: 'library', version: '1.2.3', dependencies: { 'old-ws': 'npm:ws@8' } },
    'node_modules/.pnpm/library@1/node_modules/old-ws/package.json': REAL,
    'node_modules/outer': { link: '.pnpm/outer@1/node_modules/outer' },
    'node_modules/real-ws/package.json': REAL,
    'node_modules/peered/package.json': { ...OTHER, name: 'peered' },
  });
  const { code, report } = await doctor(`${folder}/src`);
  t.is(code, 0);
  t.deepEqual(got(report), { library: 'ws 8.23.0', peered: null });
});

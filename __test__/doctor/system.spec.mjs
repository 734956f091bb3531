// reactor-ws doctor: the system, the addon and the echo.
import { createRequire } from 'node:module';
import { join } from 'node:path';

import test from 'ava';

import { doctor, project, runDoctor, withoutAddon } from './project.mjs';

const { VERSION } = createRequire(import.meta.url)('../../lib/base/layout.js');
const { systemName } = createRequire(import.meta.url)('../../lib/reactor/addon.js');
const EMPTY = { 'package.json': { private: true } };
/** One of another system. */
const FOREIGN = process.platform === 'win32' ? 'reactor-ws-linux-x64-gnu' : 'reactor-ws-win32-x64-msvc';

test('healthy: addon, limits, echo', async (t) => {
  const folder = await project(t, EMPTY);
  const { code, report } = await doctor(folder);
  t.is(code, 0, JSON.stringify(report.problems));
  t.like(report, { ok: true, version: VERSION, folder, addon: { version: VERSION }, ws: { ours: 'unused' }, problems: [] });
  t.is(report.system.name, systemName());
  t.regex(report.addon.path, /reactor-ws\.\S+\.node$/);
  t.true(report.echo.milliseconds > 0);
  if (process.platform === 'linux') t.true(report.system.descriptors.soft === null || report.system.descriptors.soft > 0);
});

test('healthy, for a person', async (t) => {
  const { code, stdout } = await runDoctor(await project(t, EMPTY), ['doctor']);
  t.is(code, 0, stdout);
  t.regex(stdout, new RegExp(`^reactor-ws ${VERSION}\n`));
  for (const fact of ['runtime', 'system', 'descriptors', 'addon', 'packages', 'echo', 'project', 'ws']) {
    t.regex(stdout, new RegExp(`^  ${fact} +\\S`, 'm'));
  }
  t.regex(stdout, /^All is well\.$/m);
});

test('no addon: the reason and the remedy of the error', async (t) => {
  const folder = await project(t, EMPTY);
  const main = await withoutAddon(folder);
  const { code, report } = await doctor(folder, { main });
  t.is(code, 1);
  t.like(report, { ok: false, addon: { version: null, path: null, packages: [] }, echo: null });
  t.is(report.problems.length, 1);
  const [{ check, what, remedy }] = report.problems;
  t.is(check, 'addon');
  t.regex(what, /could not be loaded: its package is not installed$/);
  t.regex(remedy, new RegExp(`npm install reactor-ws-${systemName()}@`));
  const { stdout } = await runDoctor(folder, ['doctor'], { main });
  t.regex(stdout, /^1 problem:\n {2}addon: .*\n {4}what to do: install/m);
  t.notRegex(stdout, /All is well/);
});

test('no addon, but the package for another system', async (t) => {
  const folder = await project(t, { ...EMPTY, [`node_modules/${FOREIGN}/package.json`]: { name: FOREIGN, version: VERSION } });
  const { code, report } = await doctor(folder, { main: await withoutAddon(folder) });
  t.is(code, 1);
  t.deepEqual(report.addon.packages, [FOREIGN]);
  t.regex(report.problems[0].what, new RegExp(`; ${FOREIGN} is for another system$`));
});

test('the environment that matters is reported, and an addon that it names wrongly', async (t) => {
  const env = { NAPI_RS_NATIVE_LIBRARY_PATH: join('/', 'no', 'addon.node') };
  const { code, report } = await doctor(await project(t, EMPTY), { env });
  t.is(code, 1);
  t.like(report.system.environment, env);
  t.regex(report.problems[0].what, /addon\.node/);
});

for (const [descriptors, kind] of [[64, 'problems'], [1024, 'notes']]) {
  test(`${descriptors} descriptors are among the ${kind}`, async (t) => {
    if (process.platform === 'win32') return t.pass('no such limit');
    const under = ['sh', '-c', `ulimit -n ${descriptors}; exec "$@"`, 'sh'];
    const { code, report } = await doctor(await project(t, EMPTY), { under });
    t.is(code, kind === 'problems' ? 1 : 0);
    t.is(report.system.descriptors.soft, descriptors);
    const [{ check, what, remedy }] = report[kind];
    t.is(check, 'system');
    t.regex(what, new RegExp(`may open ${descriptors} descriptors`));
    t.regex(remedy, /ulimit -n/);
  });
}

test('an echo that is not possible', async (t) => {
  if (!process.allowedNodeEnvironmentFlags.has('--allow-net')) return t.pass('this Node cannot forbid the network');
  const env = { NODE_OPTIONS: '--permission --allow-fs-read=* --allow-addons' };
  const { code, report } = await doctor(await project(t, EMPTY), { env });
  t.is(code, 1);
  t.like(report, { echo: null, problems: [{ check: 'echo' }] });
});

for (const [args, code, out] of [
  [[], 2, ''],
  [['nurse'], 2, ''],
  [['doctor', '--colour'], 2, ''],
  [['--help'], 0, 'Usage: reactor-ws doctor'],
  [['--version'], 0, VERSION],
]) {
  test(`reactor-ws ${args.join(' ')}`.trim(), async (t) => {
    const { code: its, stdout, stderr } = await runDoctor(await project(t, EMPTY), args);
    t.is(its, code);
    t.true(stdout.startsWith(out));
    t.is(stderr === '', code === 0, stderr);
  });
}

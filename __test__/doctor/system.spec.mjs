// reactor-ws doctor: the system and the addon.
import { createRequire } from 'node:module';
import { join } from 'node:path';

import test from 'ava';

import { doctor, project, runDoctor, withoutAddon } from './project.mjs';

const { VERSION } = createRequire(import.meta.url)('../../lib/base/layout.js');
const { systemName } = createRequire(import.meta.url)('../../lib/reactor/addon.js');
const EMPTY = { 'package.json': { private: true } };

test('healthy: addon, limits', async (t) => {
  const folder = await project(t, EMPTY);
  const { code, report } = await doctor(folder);
  t.is(code, 0, JSON.stringify(report.problems));
  t.like(report, { ok: true, version: VERSION, addon: { version: VERSION }, ws: { folder, dependants: [] }, problems: [] });
  t.is(report.system.name, systemName());
  t.regex(report.addon.path, /reactor-ws\.\S+\.node$/);
  if (process.platform === 'linux') t.true(report.system.descriptors.soft === null || report.system.descriptors.soft > 0);
});

test('healthy, for a person', async (t) => {
  const { code, stdout } = await runDoctor(await project(t, EMPTY), ['doctor']);
  t.is(code, 0, stdout);
  t.regex(stdout, new RegExp(`^reactor-ws ${VERSION}\n`));
  for (const fact of ['runtime', 'system', 'descriptors', 'addon', 'project']) {
    t.regex(stdout, new RegExp(`^  ${fact} +\\S`, 'm'));
  }
  t.regex(stdout, /^All is well\.$/m);
});

test('no addon: the reason and the remedy of the error', async (t) => {
  const folder = await project(t, EMPTY);
  const main = await withoutAddon(folder);
  const { code, report } = await doctor(folder, { main });
  t.is(code, 1);
  t.like(report, { ok: false, addon: { version: null, path: null } });
  t.is(report.problems.length, 1);
  const [{ check, what, remedy }] = report.problems;
  t.is(check, 'addon');
  t.regex(what, /could not be loaded: its package is not installed$/);
  t.regex(remedy, new RegExp(`npm install reactor-ws-${systemName()}@`));
  const { stdout } = await runDoctor(folder, ['doctor'], { main });
  t.regex(stdout, /^1 problem:\n {2}addon: .*\n {4}what to do: install/m);
  t.notRegex(stdout, /All is well/);
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

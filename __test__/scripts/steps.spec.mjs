// The tests that `npm test` runs, with `--all` all of them, and the output before they run.
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import test from 'ava';

import { LEFT_OUT, MODE_SPECS, choose } from '../../scripts/steps.mjs';

const namesOf = ({ steps }) => steps.map(({ name }) => name);

test('the spec files that are named are there', (t) => {
  const paths = [...MODE_SPECS, ...choose(['secure']).steps[0].args];
  t.deepEqual(paths.filter((path) => !existsSync(new URL(`../../${path}`, import.meta.url))), []);
});

test('--all runs every spec file, and those that depend on the mode in every mode', (t) => {
  const { steps, isShort } = choose(['--all']);
  t.false(isShort);
  const modes = steps.filter(({ kind, name }) => kind === 'ava' && !['alone', 'secure'].includes(name));
  t.deepEqual(modes.map(({ env }) => env?.REACTOR_WS_REACTORS), [undefined, '0', '3']);
  const [[own, ...less], ...others] = modes.map(({ args }) => args);
  t.is(own, '__test__/**/*.spec.mjs');
  const [alone] = choose(['alone']).steps[0].args;
  t.true(existsSync(new URL(`../../${alone}`, import.meta.url)));
  t.deepEqual(less, [`!${alone}`]);
  for (const args of others) t.deepEqual(args, others[0]);
  t.deepEqual(others[0].slice(0, 1 + less.length), [own, ...less]);
  const left = others[0].slice(1 + less.length).map((pattern) => pattern.replace('!__test__/', ''));
  // None of those that depend on it.
  t.deepEqual(MODE_SPECS.filter((path) => left.some((name) => path.startsWith(`__test__/${name.replace(/\*.*$/, '')}`))), []);
  for (const name of left) t.true(existsSync(new URL(`../${name.replace(/\*.*$|\/\*\*$/, '').replace(/http2$/, 'http2.spec.mjs')}`, import.meta.url)), name);
});

test('what is left out is said', (t) => {
  const short = choose([]);
  t.true(short.isShort);
  // One build of all layers stands for theirs.
  const layers = ['engine', 'reactor', 'binding'];
  t.true(namesOf(short).includes('rust'));
  const missing = namesOf(choose(['--all'])).filter((name) => !namesOf(short).includes(name) && !layers.includes(name));
  for (const name of missing) t.true(LEFT_OUT.includes(name), name);
  t.true(missing.length > 0);
});

test('steps that are named are run, all of them', (t) => {
  t.deepEqual(namesOf(choose(['ava', 'engine'])), ['engine', 'ava']);
  t.is(choose(['ava']).steps[0].args[0], '__test__/**/*.spec.mjs');
  t.deepEqual(namesOf(choose(['rust'])), ['rust']);
  t.false(choose(['ava']).isShort);
  t.throws(() => choose(['none']), { message: /^no such step: none \(there are rust, engine, / });
});

/** A clone in which all is installed and built, with nothing to run after that. */
function builtClone(t, declarations) {
  const clone = mkdtempSync(join(tmpdir(), 'reactor-ws-'));
  t.teardown(() => rmSync(clone, { recursive: true }));
  cpSync(fileURLToPath(new URL('../../scripts', import.meta.url)), join(clone, 'scripts'), { recursive: true });
  const files = {
    'package-lock.json': '{}',
    'node_modules/.package-lock.json': '{}',
    'lib/native/reactor-ws.node': '',
    'lib/native/binding.d.ts': declarations,
    'examples/demo/server.mjs': "console.log('the demo');",
  };
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(clone, dirname(path)), { recursive: true });
    writeFileSync(join(clone, path), content);
  }
  return clone;
}

test('npm start and npm test say that the addon is a debug build', async (t) => {
  const { scripts } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  const [, header] = /--dts-header "(.+)"/.exec(scripts['build:debug']);
  t.false(scripts.build.includes(header));
  const notice = 'lib/native has a debug build, which is several times slower: npm run build makes a release\n';
  for (const [declarations, said] of [[`${header}\n`, notice], ['', '']]) {
    const clone = builtClone(t, declarations);
    const output = async (...args) => (await promisify(execFile)(process.execPath, args, { cwd: clone })).stdout;
    t.is(await output('scripts/start.mjs'), `${said}the demo\n`);
    // A step with a missing program.
    t.is(await output('scripts/test.mjs', 'packages'), `${said}\n0 passed, 0 failed, 0 skipped\n`);
  }
});

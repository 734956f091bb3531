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

/** The spec files that a pattern of `args` leaves out. */
const leftOut = (args) => args.filter((pattern) => pattern.startsWith('!')).map((pattern) => pattern.slice(1));

test('--all runs every spec file, --night also in every mode that matters to it', (t) => {
  const [alone] = choose(['alone']).steps[0].args;
  const [ava] = choose(['--all']).steps.filter(({ name }) => name === 'ava');
  t.deepEqual(ava.args, ['__test__/**/*.spec.mjs', `!${alone}`]);
  const night = choose(['--night']).steps.filter(({ kind }) => kind === 'ava');
  t.deepEqual(night.map(({ env }) => [env.BYTES, env.REACTOR_WS_REACTORS]), [['all', undefined], ['all', '0'], ['all', '3']]);
  t.deepEqual(night[0].args, ava.args);
  t.deepEqual(night[1].args, night[2].args);
  // No pattern leaves out a file that depends on the mode, or stands for no file.
  const left = leftOut(night[1].args);
  t.deepEqual(MODE_SPECS.filter((path) => left.some((name) => path.startsWith(name.replace(/\*.*$/, '')))), []);
  for (const name of [...left, ...leftOut(choose([]).steps.find((step) => step.name === 'ava').args)]) {
    t.true(existsSync(new URL(`../../${name.replace(/\/?\*.*$/, '').replace(/http2$/, 'http2.spec.mjs')}`, import.meta.url)), name);
  }
});

test('the steps that are left out are named', (t) => {
  const short = choose([]);
  t.true(short.isShort);
  const missing = [...namesOf(choose(['--all'])), ...namesOf(choose(['--night']))].filter((name) => !namesOf(short).includes(name));
  for (const name of missing) t.true(LEFT_OUT.includes(name), name);
  t.true(missing.length > 0);
});

test('steps that are named are run, each once', (t) => {
  t.deepEqual(namesOf(choose(['ava', 'rust', 'ava'])), ['rust', 'ava']);
  t.is(choose(['ava']).steps[0].env, undefined);
  t.is(choose(['ava', '--night']).steps[0].env.BYTES, 'all');
  t.deepEqual(namesOf(choose(['packages', 'reactor'])), ['reactor', 'packages']);
  t.false(choose(['ava']).isShort);
  t.throws(() => choose(['none']), { message: /^no such step: none \(there are rust, reactor, / });
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

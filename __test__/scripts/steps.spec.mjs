// The tests that `npm test` runs, with `--all` all of them, and the output before they run.
import { existsSync } from 'node:fs';

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
  t.deepEqual(night.map(({ env }) => [env.BYTES, env.REACTOR_WS_REACTORS]), [['all', undefined], ['all', '0'], ['all', '3'], ['all', 'auto']]);
  t.deepEqual(night[0].args, ava.args);
  t.deepEqual([night[2].args, night[3].args], [night[1].args, night[1].args]);
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

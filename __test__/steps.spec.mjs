// Which tests `npm test` runs, and that nothing is left out of `npm test -- --all`.
import { existsSync } from 'node:fs';

import test from 'ava';

import { LEFT_OUT, MODE_SPECS, choose } from '../scripts/steps.mjs';

const namesOf = ({ steps }) => steps.map(({ name }) => name);

test('the spec files that depend on the mode are there', (t) => {
  t.deepEqual(MODE_SPECS.filter((path) => !existsSync(new URL(`../${path}`, import.meta.url))), []);
});

test('--all runs every spec file in every mode, unless it is about one', (t) => {
  const { steps, isShort } = choose(['--all']);
  t.false(isShort);
  const modes = steps.filter(({ kind }) => kind === 'ava');
  t.deepEqual(modes.map(({ env }) => env?.REACTOR_WS_REACTORS), [undefined, '0', '3']);
  const [[own, ...less], ...others] = modes.map(({ args }) => args);
  t.is(own, '__test__/**/*.spec.mjs');
  t.deepEqual(less, []);
  const aboutOne = ['!__test__/inline.spec.mjs', '!__test__/reactors.spec.mjs'];
  for (const args of others) t.deepEqual(args, [own, ...aboutOne]);
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
  t.deepEqual(choose(['ava']).steps[0].args, ['__test__/**/*.spec.mjs']);
  t.deepEqual(namesOf(choose(['rust'])), ['rust']);
  t.false(choose(['ava']).isShort);
  t.throws(() => choose(['none']), { message: /^no such step: none \(there are rust, engine, / });
});

// npm test: every layer from the bottom up, then what stands on all of them. The last lines name what failed; the very last
// has the counts.
//
//   npm test                      everything
//   npm test -- engine ava        only these steps

import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { formatCounts, formatFailures, parseAva, parseCargo, parseOwn, resultOf, sum } from './counts.mjs';
import { root, run, tool } from './run.mjs';
import { setup } from './setup.mjs';
import { LOOM_ENV, loomArguments } from './loom.mjs';

// Each layer runs the tests that the layers below it have not run yet.
const STEPS = [
  { name: 'engine', parse: parseCargo, start: () => cargoTest(['--no-default-features'], []) },
  {
    name: 'reactor',
    parse: parseCargo,
    start: () => cargoTest(['--no-default-features', '--features', 'reactor'], ['engine::']),
  },
  { name: 'loom', parse: parseCargo, start: () => run('cargo', loomArguments(), { env: LOOM_ENV, capture: true }) },
  { name: 'binding', parse: parseCargo, start: () => cargoTest([], ['engine::', 'bridge::', 'reactor::']) },
  { name: 'ava', parse: parseAva, start: () => ava() },
  // The same with the reactor on the JavaScript thread, and with several.
  { name: 'inline', parse: parseAva, start: () => ava({ REACTOR_WS_REACTORS: '0' }) },
  { name: 'reactors', parse: parseAva, start: () => ava({ REACTOR_WS_REACTORS: '3' }) },
  { name: 'ecosystem', parse: parseOwn, start: () => script('__test__/ecosystem/run.mjs') },
  { name: 'browser', parse: parseOwn, start: () => script('__test__/browser/run.mjs') },
  { name: 'autobahn', parse: parseOwn, start: () => script('__test__/autobahn/run.mjs', ['--quiet']) },
];

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !STEPS.some((step) => step.name === name));
if (unknown.length > 0) {
  console.error(`no such step: ${unknown.join(', ')} (there are ${STEPS.map((step) => step.name).join(', ')})`);
  process.exit(1);
}

await setup();
const results = [];
for (const step of STEPS) {
  if (wanted.length > 0 && !wanted.includes(step.name)) continue;
  const started = Date.now();
  const ended = await step.start();
  if (ended === null) continue;
  results.push({ name: step.name, seconds: (Date.now() - started) / 1000, ...resultOf(step.parse, ended) });
}

console.log('');
for (const { name, seconds, ...counts } of results) {
  console.log(`${name.padEnd(10)} ${formatCounts(counts)} in ${seconds.toFixed(0)} s`);
}
for (const result of results) for (const line of formatFailures(result, result.name)) console.log(line);
const total = sum(results);
console.log(formatCounts(total));
process.exitCode = total.failed > 0 ? 1 : 0;

function cargoTest(features, below) {
  const skips = below.flatMap((layer) => ['--skip', layer]);
  return run('cargo', ['test', '--no-fail-fast', ...features, '--', ...skips], { capture: true });
}

function ava(env = {}) {
  return tool('ava/entrypoints/cli.mjs', [], { capture: true, env });
}

/** Runs a test program of this repository, or nothing when the tree does not have it. */
async function script(path, args = []) {
  if (!existsSync(join(root, path))) return null;
  return run(process.execPath, [path, ...args], { capture: true });
}

// npm test: every layer from the bottom up, then the tests that need all of them. The last lines
// name what failed and what was left out; the very last has the counts.
//
//   npm test                      the steps for which a contributor waits
//   npm test -- --all             what each commit has to pass, as CI does
//   npm test -- --night           every length, repetition and mode
//   npm test -- rust ava          only these steps, as with --all

import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { formatCounts, formatFailures, parseAva, parseCargo, parseOwn, resultOf, sum } from './counts.mjs';
import { root, run, tool } from './run.mjs';
import { setup } from './setup.mjs';
import { LEFT_OUT, choose } from './steps.mjs';
import { LOOM_ENV, loomArguments } from './loom.mjs';

/** The minutes that a step may take: the longest takes ten, with two cores. A test that goes round in circles may print. */
const MOST = 40;

/** The way to start each kind of step, and to read its output. */
const KINDS = {
  cargo: { parse: parseCargo, start: ({ args = [] }) => run('cargo', ['test', '--no-fail-fast', ...args], { capture: true, most: MOST }) },
  loom: { parse: parseCargo, start: () => run('cargo', loomArguments(), { env: LOOM_ENV, capture: true, most: MOST }) },
  ava: { parse: parseAva, start: ({ args, env = {} }) => tool('ava/entrypoints/cli.mjs', args, { capture: true, most: MOST, env }) },
  program: { parse: parseOwn, start: ({ args, env = {} }) => program(args, env) },
};

const { steps, isShort } = chosen();

// Contributors test what is built soon, CI what users get.
await setup(process.argv.some((word) => word === '--all' || word === '--night') ? 'release' : 'light');
const results = [];
for (const step of steps) {
  const { parse, start } = KINDS[step.kind];
  const started = Date.now();
  const ended = await start(step);
  if (ended === null) continue;
  results.push({ name: step.name, seconds: (Date.now() - started) / 1000, ...resultOf(parse, ended) });
}

console.log('');
for (const { name, seconds, ...counts } of results) {
  console.log(`${name.padEnd(10)} ${formatCounts(counts)} in ${seconds.toFixed(0)} s`);
}
for (const result of results) for (const line of formatFailures(result, result.name)) console.log(line);
if (isShort) console.log(LEFT_OUT);
const total = sum(results);
console.log(formatCounts(total));
process.exitCode = total.failed > 0 ? 1 : 0;

/** Runs a test program of this repository; nothing when the tree does not have it. */
async function program([path, ...args], env) {
  if (!existsSync(join(root, path))) return null;
  return run(process.execPath, [path, ...args], { capture: true, most: MOST, env });
}

function chosen() {
  try {
    return choose(process.argv.slice(2));
  } catch (error) {
    console.error(error.message);
    return process.exit(1);
  }
}

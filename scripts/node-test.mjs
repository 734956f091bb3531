// The tests of a package of its own below __test__, which node:test runs:
// installs their packages, and counts.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { formatCounts, formatFailures, parseNodeTest, resultOf } from './counts.mjs';
import { run } from './run.mjs';
import { setup, ensureDependencies } from './setup.mjs';

/**
 * The tests wait for events only: a test, or a file of them, that takes longer hangs. Ten times
 * as long as a slow machine needs.
 */
const LONGEST_TEST_MS = 480_000;

/**
 * Runs the `*.test.mjs` of a folder; the last lines name what failed and have the counts.
 *
 * @param {string} folder
 * @param {string[]} wanted Names of files without `.test.mjs`; none is all
 * @param {{ env?: Record<string, string>, needed?: boolean }} [options] `needed`: whether they need the packages
 */
export async function runNodeTests(folder, wanted, { env = {}, needed = true } = {}) {
  await setup();
  if (needed) await ensureDependencies(folder);
  report(await nodeTests(folder, wanted, { env }));
}

/**
 * The result of the `*.test.mjs` of a folder whose packages are installed.
 *
 * @param {string} folder
 * @param {string[]} wanted
 * @param {{ env?: Record<string, string>, node?: string }} [options] `node`: the program that runs them
 */
export async function nodeTests(folder, wanted, { env = {}, node = process.execPath } = {}) {
  const names = wanted.length > 0 ? wanted.map((name) => `${name}.test.mjs`) : readdirSync(folder);
  const files = names.filter((name) => name.endsWith('.test.mjs')).map((name) => join(folder, name));
  const options = ['--test-reporter=spec', '--test-concurrency=2', `--test-timeout=${LONGEST_TEST_MS}`];
  return resultOf(parseNodeTest, await run(node, ['--test', ...options, ...files], { capture: true, env }));
}

/** Prints what failed and the counts, and sets the exit code. @param {Awaited<ReturnType<typeof nodeTests>>} result */
export function report(result) {
  for (const line of formatFailures(result)) console.log(line);
  console.log(formatCounts(result));
  process.exitCode = result.failed > 0 ? 1 : 0;
}

// npm run test:loom: the models of src/bridge, with every interleaving of
// the two threads that loom can find.

import { fileURLToPath } from 'node:url';

import { run } from './run.mjs';

/**
 * loom replaces the atomics at compile time: a folder of its own keeps the
 * ordinary build from being thrown away.
 */
export const LOOM_ENV = {
  RUSTFLAGS: '--cfg loom',
  CARGO_TARGET_DIR: `${process.env.CARGO_TARGET_DIR ?? 'target'}/loom`,
  // The search is many times slower without optimization.
  CARGO_PROFILE_DEV_OPT_LEVEL: '2',
};

/** @param {string[]} [extra] more words for the test program, for example a test's name */
export function loomArguments(extra = []) {
  return ['test', '--lib', '--no-default-features', '--features', 'reactor', '--', 'bridge::tests::', ...extra];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { code } = await run('cargo', loomArguments(process.argv.slice(2)), { env: LOOM_ENV });
  process.exitCode = code === 0 ? 0 : 1;
}

// Builds the Rust parts of the benchmark.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { setup } from '../scripts/setup.mjs';
import { benchmarkDir, rootDir, targetDir } from './paths.mjs';

/**
 * The addon as users get it, the load generator, and the servers in Rust, which are candidates.
 *
 * @param {boolean} [isAlone] Whether only the load generator is needed
 */
export async function buildServers(isAlone = false) {
  await setup('release');
  const manifest = join(benchmarkDir, 'load', 'Cargo.toml');
  if (!cargo(['--locked', '--manifest-path', manifest])) throw new Error('The load generator does not build');
  if (isAlone) return;
  const examples = ['--example', 'reactor_echo', '--example', 'tokio_echo'];
  if (!cargo(['--no-default-features', '--features', 'reactor,tokio', ...examples])) console.error('The servers in Rust do not build');
}

/**
 * @param {string[]} words
 */
function cargo(words) {
  const all = ['build', '--quiet', '--release', '--target-dir', targetDir, ...words];
  return spawnSync('cargo', all, { cwd: rootDir, stdio: 'inherit' }).status === 0;
}

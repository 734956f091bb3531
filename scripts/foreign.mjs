// The addon for other systems, built and run on this one: for `npm run test:wine` and `npm run test:arch`.

import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

import { formatCounts, formatFailures, sum } from './counts.mjs';
import { isExecutable, root, run } from './run.mjs';

/**
 * Ends the process, as skipped, if there is no Debian with these programs. With `--install` on the command line apt installs
 * them first.
 *
 * @param {{ programs: string[], packages: string[] }} needs `programs`: names on PATH, or paths of files
 */
export async function needs({ programs, packages }) {
  const lacks = () => programs.filter((name) => !find(name));
  const asRoot = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  const apt = ['apt-get', 'install', '-y', '--no-install-recommends', ...packages];
  if (lacks().length > 0 && process.argv.includes('--install') && find('apt-get')) {
    for (const command of [['apt-get', 'update'], apt]) {
      const [program, ...args] = [...asRoot, ...command];
      await run(program, args);
    }
  }
  if (lacks().length > 0) skip(`${lacks().join(', ')} not found: on Debian or Ubuntu, ${apt.join(' ')}`);
}

/** @param {string} name A program on PATH, or the path of a file */
function find(name) {
  if (name.includes('/')) return existsSync(name) ? name : undefined;
  return process.env.PATH.split(delimiter).map((folder) => join(folder, name)).find(isExecutable);
}

/** Builds the addon for a target. @param {{ target: string, library: string, addon: string, env: Record<string, string> }} wanted */
export async function build({ target, library, addon, env }) {
  const { code: added } = await run('rustup', ['target', 'add', target]);
  if (added !== 0) skip(`no standard library of Rust for ${target}`);
  const { code } = await run('cargo', ['build', '--profile', 'light', '--lib', '--target', target], { env });
  if (code !== 0) finish([{ name: target, passed: 0, failed: 1, skipped: 0, failures: ['the addon was not built'] }]);
  mkdirSync(join(root, 'lib/native'), { recursive: true });
  copyFileSync(join(root, 'target', target, 'light', library), join(root, 'lib/native', addon));
}

/** Ends the process: there is nothing to run the tests with. @param {string} reason @returns {never} */
export function skip(reason) {
  console.log(reason);
  console.log(formatCounts({ passed: 0, failed: 0, skipped: 1 }));
  process.exit(0);
}

/** Ends the process with the sum of all results. @param {(import('./counts.mjs').Result & { name: string })[]} results @returns {never} */
export function finish(results) {
  console.log('');
  for (const { name, ...counts } of results) console.log(`${name.padEnd(36)} ${formatCounts(counts)}`);
  for (const result of results) for (const line of formatFailures(result, result.name)) console.log(line);
  const total = sum(results);
  console.log(formatCounts(total));
  process.exit(total.failed > 0 ? 1 : 0);
}

// The path of the fuzzing client of Autobahn|Testsuite, if it is installed: WSTEST, then PATH,
// then the place its installer uses.

import { execFileSync } from 'node:child_process';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

import { isExecutable } from './run.mjs';

export const WSTEST_HINT = 'wstest (Autobahn|Testsuite, Python 2) was not found: put it on PATH or name it in WSTEST';

/** The path of a `wstest` that answers to --version, or null. */
export function findWstest() {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const folders = (process.env.PATH || '').split(delimiter);
  const candidates = [
    process.env.WSTEST,
    ...folders.map((folder) => join(folder, 'wstest')),
    join(cache, 'wstest', 'bin', 'wstest'),
  ];
  return candidates.find((file) => file && isExecutable(file) && answers(file)) ?? null;
}

function answers(file) {
  try {
    execFileSync(file, ['--version'], { stdio: 'ignore', timeout: 30_000 });
    return true;
  } catch {
    return false;
  }
}

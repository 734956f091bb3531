// npm run check:targets: clippy for the platforms of package.json that this machine is not, so that
// none of them is broken by a change made on another. It checks types and lints; it links and runs
// nothing, so no foreign linker is needed.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { formatCounts } from './counts.mjs';
import { root, run } from './run.mjs';

/** @type {string[]} */
const targets = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).napi.targets;

const { code: missing } = await run('rustup', ['target', 'add', ...targets], { capture: true });
if (missing !== 0) {
  console.log('no rustup to fetch the standard libraries of other platforms with');
  console.log(formatCounts({ passed: 0, failed: 0, skipped: targets.length }));
} else {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const target of targets) {
    const { code } = await run('cargo', ['clippy', '--target', target, '--', '-D', 'warnings']);
    if (code === 0) counts.passed += 1;
    else counts.failed += 1;
  }
  console.log(formatCounts(counts));
  process.exitCode = counts.failed > 0 ? 1 : 0;
}

// npm run check:targets: clippy for the platforms of package.json that this machine is not, tests included, so that none of
// them is broken by a change made on another. No foreign compiler is needed: an empty file is as good as an object for clippy. With
// cargo-zigbuild (npm/requirements.txt) the addon is linked for macOS as well. Nothing runs.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { formatCounts } from './counts.mjs';
import { root, run } from './run.mjs';

/** In the place of a C compiler and of its archiver: makes the files that they would make. */
const EMPTY = `#!/bin/sh
for word; do
  if [ "$last" = -o ]; then : > "$word"; fi
  case "$word" in
    -Fo*) : > "\${word#-Fo}" ;;
    -out:*) : > "\${word#-out:}" ;;
    *.a) : > "$word" ;;
  esac
  last=$word
done
`;
/** With its empty objects, nothing can be linked. */
const FOLDER = join(root, 'target/check');

const { output: compiler } = await run('rustc', ['-vV'], { capture: true });
/** @type {string[]} */
const all = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).napi.targets;
const targets = all.filter((target) => !compiler.includes(`host: ${target}\n`));
const counts = { passed: 0, failed: 0, skipped: 0 };

const { code: missing } = await run('rustup', ['target', 'add', ...targets], { capture: true });
if (missing !== 0 || process.platform === 'win32') {
  console.log(missing === 0 ? 'no shell in the place of a compiler' : 'no rustup to fetch the standard libraries of other platforms with');
  counts.skipped += targets.length;
} else {
  mkdirSync(FOLDER, { recursive: true });
  const empty = join(FOLDER, 'empty');
  writeFileSync(empty, EMPTY, { mode: 0o755 });
  const env = { CARGO_TARGET_DIR: FOLDER, TARGET_AR: empty, TARGET_CC: empty, TARGET_CXX: empty };
  for (const target of targets) count(await run('cargo', ['clippy', '--all-targets', '--target', target, '--', '-D', 'warnings'], { env }));

  const apple = targets.filter((target) => target.includes('apple'));
  const { code: zigless } = await run('cargo-zigbuild', ['--version'], { capture: true });
  if (zigless === 0) count(await run('cargo', ['zigbuild', '--lib', ...apple.flatMap((target) => ['--target', target])]));
  else counts.skipped += 1;
}
console.log(formatCounts(counts));
process.exitCode = counts.failed > 0 ? 1 : 0;

/** @param {{ code: number }} ended */
function count({ code }) {
  if (code === 0) counts.passed += 1;
  else counts.failed += 1;
}

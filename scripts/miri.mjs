// npm run test:miri: the two places with unsafe code below the binding, under Miri. Needs a nightly toolchain with Miri;
// without one it says so and counts as skipped.

import { countsOf, formatCounts, parseCargo } from './counts.mjs';
import { run } from './run.mjs';

const SUITES = [
  ['--no-default-features', '--', 'engine::mask::'],
  ['--no-default-features', '--features', 'reactor', '--', 'bridge::tests::'],
];

const { code: missing } = await run('cargo', ['+nightly', 'miri', '--version'], { capture: true });
if (missing !== 0) {
  console.log('no nightly toolchain with Miri: rustup toolchain install nightly --component miri');
  console.log('0 passed, 0 failed, 1 skipped');
} else {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const suite of SUITES) {
    const result = await run('cargo', ['+nightly', 'miri', 'test', '--lib', ...suite], {
      capture: true,
      // The tests may read the clock and files; Miri forbids both by default.
      env: { MIRIFLAGS: '-Zmiri-disable-isolation' },
    });
    const { passed, failed, skipped } = countsOf(parseCargo, result);
    counts.passed += passed;
    counts.failed += failed;
    counts.skipped += skipped;
  }
  console.log(formatCounts(counts));
  process.exitCode = counts.failed > 0 ? 1 : 0;
}

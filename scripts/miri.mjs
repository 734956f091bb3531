// npm run test:miri: the two places with unsafe code below the binding, under Miri. Needs a nightly
// toolchain with Miri; without one it is skipped, with a line about it.

import { formatCounts, formatFailures, parseCargo, resultOf, sum } from './counts.mjs';
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
  const results = [];
  for (const suite of SUITES) {
    const ended = await run('cargo', ['+nightly', 'miri', 'test', '--lib', ...suite], {
      capture: true,
      // The tests may read the clock and files; Miri forbids both by default.
      env: { MIRIFLAGS: '-Zmiri-disable-isolation' },
    });
    results.push(resultOf(parseCargo, ended));
  }
  for (const result of results) for (const line of formatFailures(result)) console.log(line);
  const total = sum(results);
  console.log(formatCounts(total));
  process.exitCode = total.failed > 0 ? 1 : 0;
}

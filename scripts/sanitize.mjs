// npm run test:sanitize: the tests of bridge and reactor built with ThreadSanitizer and with
// AddressSanitizer, std included; one of them with `-- thread` or `-- address`. Needs Linux and a
// nightly toolchain with rust-src; without it the step is skipped.

import { formatCounts, formatFailures, parseCargo, resultOf, sum } from './counts.mjs';
import { run } from './run.mjs';

const TARGET = `${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-unknown-linux-gnu`;
/**
 * An address sanitizer that looks for leaks would report memory that the tests
 * leave to the end of their process.
 */
const OPTIONS = { ASAN_OPTIONS: 'detect_leaks=0', TSAN_OPTIONS: 'halt_on_error=1' };
/** A sanitizer takes more address space than that test leaves. */
const SKIPPED = ['--', '--skip', 'r18_without_memory'];

const { output } = await run('rustc', ['+nightly', '--print', 'sysroot'], { capture: true });
const { code: missing } = await run('ls', [`${output.trim()}/lib/rustlib/src/rust/library/Cargo.lock`], { capture: true });
if (process.platform !== 'linux' || missing !== 0) {
  console.log('no nightly toolchain with the sources of std: rustup toolchain install nightly --component rust-src');
  console.log('0 passed, 0 failed, 1 skipped');
} else {
  const results = [];
  const chosen = process.argv.slice(2);
  for (const sanitizer of chosen.length > 0 ? chosen : ['thread', 'address']) {
    const args = ['+nightly', 'test', '-Zbuild-std', '--target', TARGET, '--lib', '--no-default-features', '--features', 'reactor', ...SKIPPED];
    const env = { ...OPTIONS, RUSTFLAGS: `-Zsanitizer=${sanitizer}`, CARGO_TARGET_DIR: `target/sanitize-${sanitizer}` };
    results.push(resultOf(parseCargo, await run('cargo', args, { capture: true, env })));
  }
  for (const result of results) for (const line of formatFailures(result)) console.log(line);
  const total = sum(results);
  console.log(formatCounts(total));
  process.exitCode = total.failed > 0 ? 1 : 0;
}

// The facts that `npm test` reads from the output of each runner: counts, and the names of tests
// that failed or never ended.
import test from 'ava';

import { formatFailures, parseAva, parseCargo, parseNodeTest, parseOwn, resultOf } from '../../scripts/counts.mjs';
import { run } from '../../scripts/run.mjs';

const AVA = `
  ✔ echo › a message (1.2s)
  - [skip] echo › not here
  ✘ [fail]: echo › two: words Rejected promise returned by test
  ✘ [unexpected pass]: echo › a bug
  ✘ killed.spec.mjs exited due to SIGKILL

  Uncaught exception in crash.spec.mjs

  ✘ Timed out while running tests

  1 tests were pending in memory.spec.mjs

  ◌ memory › z09: forever

  ─

  echo › two: words

  Rejected promise returned by test. Reason:

  TypeError {
    message: 'bang',
  }

  TypeError: bang
      at file:///echo.spec.mjs:2:39

  2 tests failed
`;

const CARGO = `
running 4 tests
test wheel::tests::ticks ... ok
test wheel::tests::turns has been running for over 60 seconds
test wheel::tests::slow has been running for over 60 seconds
test wheel::tests::slow ... ok
test signals ... FAILED

test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.05s
`;

const NODE = `
✔ ok (0.8ms)
✖ bad (0.1ms)
  Error: x
ℹ tests 4
ℹ pass 1
ℹ fail 2
ℹ cancelled 1
ℹ skipped 0
ℹ todo 0

✖ failing tests:

test at g.test.mjs:2:20
✖ bad (0.1ms)
  Error: x
`;

test('ava: failed tests, crashed files, what never ended', (t) => {
  t.deepEqual(parseAva(AVA), {
    passed: 1,
    failed: 6,
    skipped: 1,
    failures: [
      'echo › two: words: TypeError: bang',
      '[unexpected pass]: echo › a bug',
      'killed.spec.mjs exited due to SIGKILL',
      'Timed out while running tests',
      'Uncaught exception in crash.spec.mjs',
      'memory › z09: forever (did not end)',
    ],
  });
  t.is(parseAva('nothing'), null);
});

test('cargo: failed tests, and those that were still running when it was killed', (t) => {
  const failures = ['signals', 'wheel::tests::turns (did not end)'];
  t.deepEqual(parseCargo(CARGO), { passed: 2, failed: 1, skipped: 0, failures });
  t.is(parseCargo('error: could not compile'), null);
});

test('node:test and our own runners', (t) => {
  const failures = ['bad (0.1ms)'];
  t.deepEqual(parseNodeTest(NODE), { passed: 1, failed: 3, skipped: 0, failures });
  const own = `noise\n${formatFailures({ failures }).join('\n')}\n1 passed, 3 failed, 0 skipped\n`;
  t.deepEqual(parseOwn(own), { passed: 1, failed: 3, skipped: 0, failures });
  t.deepEqual(formatFailures({ failures: ['bad'] }, 'ecosystem'), ['failed: ecosystem › bad']);
});

test('the result of a command that hangs says that it was killed', async (t) => {
  const ended = await run(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { capture: true, silence: 0.002 });
  t.deepEqual(ended, { code: -1, output: '', reason: 'killed: it had printed nothing for 0.002 minutes' });
  const circling = await run(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { capture: true, most: 0.002 });
  t.deepEqual(circling, { code: -1, output: '', reason: 'killed: it had run for 0.002 minutes' });
  const result = resultOf(parseAva, { ...ended, output: '  ✔ a › b\n' });
  t.deepEqual(result, { passed: 1, failed: 1, skipped: 0, failures: [ended.reason] });
});

test('a step that ended badly without saying why is one failure', (t) => {
  const failures = ['no test named, exit code 101'];
  t.deepEqual(resultOf(parseCargo, { code: 101, output: '' }), { passed: 0, failed: 1, skipped: 0, failures });
  const passed = '\u001B[32m3 passed, 0 failed, 0 skipped\u001B[39m\r\n';
  t.deepEqual(resultOf(parseOwn, { code: 0, output: passed }), { passed: 3, failed: 0, skipped: 0, failures: [] });
});

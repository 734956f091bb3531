// How a process with a busy server ends: by itself, by exit(), by an exception. Signals, and more
// ways in: faults/faults-process.spec.mjs.
import { fileURLToPath } from 'node:url';

import { Child, repeat, test, traffic } from '../helpers/index.mjs';
import { isAll } from '../helpers/thresholds.mjs';

const TIMES = isAll ? 50 : 8;
const AT_ONCE = 4;
const FOREIGN_LOOP = ['--require', fileURLToPath(new URL('../fixtures/foreign-loop.cjs', import.meta.url))];

/** Ends a busy server that many times; `check` looks at each end and at what the clients got. */
function ends(way, { code = 7, stderr = '', nodeArgs = [] }, check = () => {}) {
  // P03, P04, P05.
  test.serial(`a busy server's process ends: ${[way, ...nodeArgs.slice(0, 1)].join(' ')}`, async (t) => {
    await repeat(nodeArgs.length === 0 ? TIMES : AT_ONCE, AT_ONCE, async () => {
      const child = new Child(t, 'ending.mjs', [way], { nodeArgs });
      const received = traffic(t, await child.line());
      const end = await child.ended();
      t.like(end, { code, signal: null });
      if (stderr === '') t.is(end.stderr, '');
      else t.true(end.stderr.includes(stderr) && !end.stderr.includes('panicked'), end.stderr);
      check(t, await received);
    });
  });
}

ends('close', { code: 0 }, (t, received) => {
  for (const text of received) t.true(text.endsWith('\x88\x02\x03\xe9'), JSON.stringify(text));
});
ends('close and terminate', { code: 0 });
ends('exit in a tick', {});
ends('exit with listeners', {}, (t, received) => {
  for (const text of received) t.true(text.includes('from an exit listener'), JSON.stringify(text));
});
ends('exit after listeners came', {}, (t, received) => {
  t.true(received.length > 0);
  for (const text of received) t.true(text.includes('from an exit listener'), JSON.stringify(text));
});
ends('exit while behind', {});
ends('last words', {}, (t, received) => {
  t.true(received.some((text) => text.includes('last words')), JSON.stringify(received));
});
ends('throw in a job', { code: 1, stderr: 'thrown on purpose' });

// Where the event loop is not libuv's, Node-API wakes it.
ends('close', { code: 0, nodeArgs: FOREIGN_LOOP });
ends('exit in a handler', { nodeArgs: FOREIGN_LOOP });

// Deprecated calls are made without a warning.
ends('close', { code: 0, nodeArgs: ['--pending-deprecation', '--throw-deprecation'] });

// How a process or a worker with a busy server ends: by itself, by exit(), by an exception, by a signal.
import { fileURLToPath } from 'node:url';

import test from 'ava';

import { Child, MEASURED, repeat, traffic } from './helpers/child.mjs';

const TIMES = 50;
const AT_ONCE = 4;
const FOREIGN_LOOP = ['--require', fileURLToPath(new URL('./fixtures/foreign-loop.cjs', import.meta.url))];

/** Ends a busy server 50 times; `check` looks at each end and at what the clients got. */
function ends(way, { code = 7, signal = null, stderr = '', nodeArgs = [] }, check = () => {}) {
  // P03, P04, P05.
  test.serial(`a busy server's process ends: ${[way, ...nodeArgs.slice(0, 1)].join(' ')}`, async (t) => {
    await repeat(nodeArgs.length === 0 ? TIMES : AT_ONCE, AT_ONCE, async () => {
      const child = new Child(t, 'ending.mjs', [way], { nodeArgs });
      const received = traffic(t, await child.line());
      if (signal !== null) {
        await child.line(1);
        child.process.kill(signal);
      }
      const end = await child.ended();
      t.like(end, { code, signal });
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
ends('exit', {});
ends('exit in a handler', {});
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
ends('throw in a handler', { code: 1, stderr: 'thrown on purpose' });
ends('throw in a job', { code: 1, stderr: 'thrown on purpose' });
ends('wait to be killed', { code: null, signal: 'SIGTERM' });

// Where the event loop is not libuv's, Node-API wakes it.
ends('close', { code: 0, nodeArgs: FOREIGN_LOOP });
ends('exit in a handler', { nodeArgs: FOREIGN_LOOP });

// What is deprecated for those who ask for it is used without a word.
ends('close', { code: 0, nodeArgs: ['--pending-deprecation', '--throw-deprecation'] });

/** Ends busy servers in workers; the process that had them must be as it was before. */
function endsWorkers(way, times, atOnce, mainToo) {
  const where = mainToo === 'yes' ? 'the main thread has a server too' : 'only workers have the addon';
  // P07, P08, P09, P10.
  test.serial(`${times} busy workers, ${atOnce} at once, end by ${way}; ${where}`, async (t) => {
    const child = new Child(t, 'workers.mjs', [way, times / 2, atOnce, mainToo], MEASURED);
    const { code, signal, stdout, stderr } = await child.ended();
    t.deepEqual({ code, signal, stderr }, { code: 0, signal: null, stderr: '' });
    const { before, after, mainAlive } = JSON.parse(stdout);
    t.true(mainAlive);
    t.true(after.threads <= before.threads && after.files <= before.files);
    t.true(after.rss < before.rss + 32 * 2 ** 20, `${before.rss} -> ${after.rss}`);
  });
}

for (const way of ['terminate()', 'terminate() while blocked', 'process.exit()', 'an exception', 'its natural end']) {
  for (const mainToo of ['yes', 'no']) endsWorkers(way, 50, 2, mainToo);
}
endsWorkers('terminate()', 100, 20, 'yes');
endsWorkers('terminate()', 100, 20, 'no');

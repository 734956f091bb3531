// How a process or a worker with a busy server ends: by itself, by exit(), by an exception, by a signal.
import test from 'ava';

import { Child, repeat, traffic } from './helpers/child.mjs';

const TIMES = 50;
const AT_ONCE = 4;

/** Ends a busy server 50 times; `check` looks at each end and at what the clients got. */
function ends(way, { code = 7, signal = null, stderr = '' }, check = () => {}) {
  test.serial(`a busy server's process ends: ${way}`, async (t) => {
    await repeat(TIMES, AT_ONCE, async () => {
      const child = new Child(t, 'ending.mjs', [way]);
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
ends('exit while behind', {});
ends('last words', {}, (t, received) => {
  t.true(received.some((text) => text.includes('last words')), JSON.stringify(received));
});
ends('throw in a handler', { code: 1, stderr: 'thrown on purpose' });
ends('throw in a job', { code: 1, stderr: 'thrown on purpose' });
ends('wait to be killed', { code: null, signal: 'SIGTERM' });

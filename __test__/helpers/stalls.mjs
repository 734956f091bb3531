// Tests in which a process has to be in time: on a machine that stops for longer, they would fail
// for no reason of their own.
import { performance } from 'node:perf_hooks';

const GRAIN_MS = 5;

/** On a machine that always stalls an attempt counts, too: it fails, rather than never end. */
const MOST_ATTEMPTS = 30;

/**
 * Runs `attempt` until this thread has not stood still for `most` milliseconds in it: an attempt
 * with a longer stall proves nothing.
 *
 * @returns The result of the last attempt, or its exception.
 */
export async function unlessStalled(most, attempt) {
  for (let attempts = 1; ; attempts++) {
    let longest = 0;
    let last = performance.now();
    const look = () => {
      const now = performance.now();
      longest = Math.max(longest, now - last);
      last = now;
    };
    const looking = setInterval(look, GRAIN_MS);
    const [ended] = await Promise.allSettled([attempt()]);
    clearInterval(looking);
    look();
    if (longest >= most && attempts < MOST_ATTEMPTS) continue;
    if (ended.status === 'rejected') throw ended.reason;
    return ended.value;
  }
}

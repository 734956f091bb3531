// How a worker with a busy server ends: by itself, by terminate(), by exit(), by an exception. A
// file of its own, which ava runs beside that of processes: both take long.
import { Child, MEASURED, test } from '../helpers/index.mjs';
import { isAll } from '../helpers/thresholds.mjs';

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
  for (const mainToo of ['yes', 'no']) endsWorkers(way, isAll ? 50 : 8, 2, mainToo);
}
for (const mainToo of ['yes', 'no']) endsWorkers('terminate()', isAll ? 100 : 40, 20, mainToo);

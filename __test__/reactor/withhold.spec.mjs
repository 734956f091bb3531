import { createRequire } from 'node:module';
import { startServer, test } from '../helpers/index.mjs';

const require = createRequire(import.meta.url);
const { closes, ended, mustWait, wait } = require('../../lib/reactor/withhold.js');
const outbox = require('../../lib/reactor/outbox.js');

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

// The timer of a wait may be due in the turn in which the wait is over.
test.serial('a wait that is over is not given up: answers wait for ends that begin after it', async (t) => {
  await startServer(t);
  const place = { _slot: 2 ** 20, _generation: 1 };
  const { pushEmpty } = outbox;
  t.teardown(() => (outbox.pushEmpty = pushEmpty));
  for (let round = 0; round < 200; round++) {
    let isOver = false;
    // The answer leaves, and another connection closes at once.
    outbox.pushEmpty = () => {
      isOver = true;
      closes(place, false);
    };
    wait(place);
    while (!isOver) {
      const end = performance.now() + (round % 50) / 25;
      while (performance.now() < end);
      await nextTurn();
    }
    await nextTurn();
    const waits = mustWait();
    ended(place);
    for (let turn = 0; mustWait(); turn++) await nextTurn();
    t.true(waits, `round ${round}`);
  }
});

// Connections over TLS that send 2 MB/s of messages of 8 KiB that become 8 MiB, together: a
// connection that sends little must not wait for all of them.
import { attack, bomb, inflatedBefore } from '../helpers/bombs.mjs';
import { Child, isReference, test } from '../helpers/index.mjs';

const ANSWERS = 60;

for (const connections of [100, 300]) {
  test.serial(`${connections} connections`, async (t) => {
    const child = new Child(t, 'secure.mjs', [], { stdio: ['pipe', 'pipe', 'pipe'] });
    const port = Number(await child.line(0));
    const stop = await attack(t, port, connections, 2e6, bomb(8 << 20));
    const counts = await inflatedBefore(t, port, ANSWERS);
    stop();
    const [median, most] = [counts[ANSWERS >> 1], counts.at(-1)];
    t.log(`${median} messages of 8 MiB before an answer, at most ${most}`);
    t.true(most > 0, 'no attack');
    // ws inflates in other threads, which can wait for a CPU.
    t.true(isReference || median < 10, `${counts}`);
    child.process.stdin.end();
    await child.ended();
  });
}

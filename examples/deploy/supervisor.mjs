// Starts server.mjs, and with each Enter its next version. The version before ends by itself; if the next one does not
// start, it goes on. `npm run example:deploy`

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const HANDOVER = process.env.HANDOVER ?? join(mkdtempSync(join(tmpdir(), 'deploy-')), 'handover.sock');
const program = new URL('server.mjs', import.meta.url);
const versions = new Set();
let current = null;
let latest = null;

async function start(version) {
  const next = fork(program, { env: { ...process.env, HANDOVER, VERSION: version } });
  versions.add(next);
  next.once('exit', () => versions.delete(next));
  const late = setTimeout(() => next.kill('SIGKILL'), 30_000);
  const [word] = await Promise.race([once(next, 'message'), once(next, 'exit')]);
  clearTimeout(late);
  if (word === 'ready') [current, latest] = [next, version];
  else console.error(`version ${version} has not started`);
  // Not if a later version has taken over since.
  const again = () => current ?? ((latest ?? version) === version && start(version));
  if (current === null) setTimeout(again, 1000);
  next.once('exit', () => {
    if (next !== current) return;
    current = null;
    setTimeout(again, 1000);
  });
}

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => {
  for (const each of versions) each.kill();
  process.exit();
});

let version = 1;
let started = start(version);
// One after the other: the last one has the clients.
createInterface({ input: process.stdin }).on('line', () => {
  started = started.then(() => start(++version));
});

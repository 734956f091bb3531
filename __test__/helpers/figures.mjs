// Figures of the process, as Linux reports them.
import { readFileSync, readdirSync } from 'node:fs';

/** The number of reactor threads, and of descriptors. */
export function figures() {
  const names = readdirSync('/proc/self/task').map(nameOf);
  return { threads: names.filter((name) => name === 'reactor-ws').length, files: readdirSync('/proc/self/fd').length };
}

function nameOf(task) {
  try {
    return readFileSync(`/proc/self/task/${task}/comm`, 'utf8').trim();
  } catch {
    return '';
  }
}

// Records of other people's benchmarks: their figures, with the machine, the date and the versions.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeMachine } from '../record.mjs';
import { benchmarkDir } from '../paths.mjs';

/**
 * @param {string} name
 * @param {Record<string, unknown>} figures
 */
export function writeOther(name, figures) {
  const { date, machine, versions } = describeMachine();
  const folder = join(benchmarkDir, 'record', 'others');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${name}-${machine.name}.json`);
  writeFileSync(file, `${JSON.stringify({ date, machine, versions, ...figures }, null, 1)}\n`);
  console.log(file);
}

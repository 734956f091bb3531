// Records of other people's benchmarks: their figures, with the machine, the date and the versions.
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
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

/**
 * The newest record of any machine.
 *
 * @param {string} name
 */
export function newestOther(name) {
  const folder = join(benchmarkDir, 'record', 'others');
  const records = readdirSync(folder)
    .filter((file) => file.startsWith(`${name}-`))
    .map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')));
  return records.reduce((newest, record) => (record.date > newest.date ? record : newest));
}

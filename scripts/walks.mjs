// The two walks of ARCHITECTURE.md name functions and the files that
// they are in: both must be there.

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { root } from './run.mjs';

const BEGIN = '### In: ';
const END = 'A turn of the reactor is `run_once`';

/** @returns {string[]} one line per function or file that is not where a walk has it */
export function walkViolations() {
  const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
  const walks = text.slice(text.indexOf(BEGIN), text.indexOf(END));
  const rows = walks.split('\n').filter((line) => line.startsWith('|') && line.includes('`'));
  if (rows.length < 20) return ['ARCHITECTURE.md: the walks are not found'];
  return rows.flatMap((row) => {
    const [, functions, places] = row.split('|');
    const { files, missing } = filesOf(named(places));
    const code = files.map((file) => readFileSync(join(root, file), 'utf8')).join('\n');
    const unknown = named(functions).filter((name) => !defines(code, name.split('::').pop()));
    return [
      ...missing.map((file) => `ARCHITECTURE.md: no file ${file}`),
      ...unknown.map((name) => `ARCHITECTURE.md: ${name} is not in ${files.join(', ')}`),
    ];
  });
}

/** The words between backticks. */
function named(cell) {
  return [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1]);
}

/** A path after the first may leave out the folders that it shares with the one before it. */
function filesOf(paths) {
  const files = [];
  const missing = [];
  for (const path of paths) {
    let folder = files.length === 0 ? '.' : dirname(files.at(-1));
    while (folder !== '.' && !existsSync(join(root, folder, path))) folder = dirname(folder);
    const file = join(folder, path);
    (existsSync(join(root, file)) ? files : missing).push(file);
  }
  return { files, missing };
}

function defines(code, name) {
  return new RegExp(`\\b(fn|function) ${name}\\b|^  ${name}\\(`, 'm').test(code);
}

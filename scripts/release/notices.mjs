// npm/THIRD-PARTY.md: the licences of all crates that are linked into an addon.
//
//   node scripts/release/notices.mjs      writes it, by cargo-about: cargo install cargo-about
//
// `npm run check` needs no cargo-about: it compares the crates that the file names with those that cargo links.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { root, run } from '../run.mjs';
import { systems } from './systems.mjs';

const FILE = 'npm/THIRD-PARTY.md';

if (process.argv[1] === import.meta.filename) {
  const { code } = await run('cargo', ['about', 'generate', '--fail', '--frozen', '-c', 'npm/about.toml', '-o', FILE, 'npm/about.hbs']);
  const faults = code === 0 ? noticeFaults() : ['cargo about failed; if it is missing: cargo install cargo-about'];
  if (faults.length > 0) console.error(faults.join('\n'));
  process.exitCode = faults.length === 0 ? 0 : 1;
}

/** @returns {string[]} One line for each crate that is linked and not named, or named and not used */
export function noticeFaults() {
  const named = new Set([...read(FILE).matchAll(/^- (\S+ \d[^\s:]*)/gm)].map(([, crate]) => crate));
  const locked = new Set([...read('Cargo.lock').matchAll(/^name = "(.*)"\nversion = "(.*)"/gm)].map(([, name, version]) => `${name} ${version}`));
  const remedy = 'run node scripts/release/notices.mjs';
  return [
    ...[...linkedCrates()].filter((crate) => !named.has(crate)).map((crate) => `${FILE}: lacks ${crate}; ${remedy}`),
    ...[...named].filter((crate) => !locked.has(crate)).map((crate) => `${FILE}: has ${crate}, which is not in Cargo.lock; ${remedy}`),
  ];
}

/** Names and versions of all crates in an addon of any system, but for our own. */
function linkedCrates() {
  const crates = new Set();
  for (const { target } of systems) {
    const args = ['tree', '--locked', '--edges', 'normal,no-proc-macro', '--prefix', 'none', '--format', '{p}', '--target', target];
    for (const line of execFileSync('cargo', args, { cwd: root, encoding: 'utf8' }).split('\n')) {
      const [, name, version, isLocal] = /^(\S+) v(\S+)( \(\/| \([A-Z]:)?/.exec(line) ?? [];
      if (name !== undefined && isLocal === undefined) crates.add(`${name} ${version}`);
    }
  }
  return crates;
}

function read(path) {
  return readFileSync(join(root, path), 'utf8');
}

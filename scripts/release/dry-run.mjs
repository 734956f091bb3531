// npm run release:dry-run: everything of a release but publishing. Compares the versions, reads the
// notices, packs, reads the tarballs and prints what is in them; stages and approves them on a registry of its own.
//
//   npm run release:dry-run                   with the addon of lib/native, and none for other systems
//   npm run release:dry-run -- --release      with the addons of npm/, all of them
//
// `npm run test:packages` publishes the tarballs to a registry of its own, and installs them from there.

import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

import { root, run } from '../run.mjs';
import { setup } from '../setup.mjs';
import { contentFaults, filesOf } from './contents.mjs';
import { noticeFaults } from './notices.mjs';
import { OUT } from './pack.mjs';
import { releaseFaults, versionFaults } from './ready.mjs';
import { rehearsalFaults } from './rehearsal.mjs';
import { systems } from './systems.mjs';

const isRelease = process.argv[2] === '--release';
if (!isRelease) await setup('release');
const early = [...versionFaults(), ...noticeFaults()];
const { code } = await run(process.execPath, [join(root, 'scripts/release/pack.mjs'), ...(isRelease ? [] : ['--host'])]);
const faults = code === 0 ? [...early, ...contentFaults(), ...(await rehearsalFaults())] : [...early, 'packing failed'];

if (code === 0) for (const name of readdirSync(OUT).sort()) show(name);
if (code === 0) writeHashes();
const open = releaseFaults();
if (open.length > 0) console.log(`\nbefore it can be published:\n${open.map((line) => `  ${line}`).join('\n')}`);
console.log(faults.length === 0 ? '\ndry run: all is well' : `\ndry run: failed:\n${faults.map((line) => `  ${line}`).join('\n')}`);
process.exitCode = faults.length === 0 ? 0 : 1;

/** target/SHA256SUMS, for `sha256sum --check` and for builds of others: all tarballs, and the addons in them. */
function writeHashes() {
  const tarballs = readdirSync(OUT).sort().map((name) => join(OUT, name));
  const addons = systems.map(({ file }) => file).filter((file) => existsSync(file));
  const lines = [...tarballs, ...addons].map((file) => `${hash(readFileSync(file))}  ${basename(file)}\n`);
  writeFileSync(join(root, 'target/SHA256SUMS'), lines.join(''));
}

function hash(content) {
  return createHash('sha256').update(content).digest('hex');
}

function show(name) {
  const files = filesOf(name);
  const content = readFileSync(join(OUT, name));
  const bytes = [...files.values()].reduce((sum, one) => sum + one.length, 0);
  console.log(`\n${name}: ${files.size} files, ${bytes} bytes, packed ${content.length}`);
  console.log(`  sha256 ${hash(content)}`);
  const paths = [...files.keys()].sort();
  for (const folder of [...new Set(paths.map(dirname))].sort()) {
    const own = paths.filter((path) => dirname(path) === folder).map((path) => basename(path));
    console.log(`  ${folder}: ${own.join(' ')}`);
  }
}

// npm run release:dry-run: everything of a release but publishing. Compares the versions, reads the
// notices, packs, reads the tarballs and prints what is in them.
//
//   npm run release:dry-run                   with the addon of lib/native, and none for other systems
//   npm run release:dry-run -- --release      with the addons of npm/, all of them
//
// `npm run test:packages` publishes the tarballs to a registry of its own, and installs them from there.

import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

import { root, run } from '../run.mjs';
import { setup } from '../setup.mjs';
import { contentFaults, filesOf } from './contents.mjs';
import { noticeFaults } from './notices.mjs';
import { OUT } from './pack.mjs';
import { releaseFaults, versionFaults } from './ready.mjs';

const isRelease = process.argv[2] === '--release';
if (!isRelease) await setup('release');
const early = [...versionFaults(), ...noticeFaults()];
const { code } = await run(process.execPath, [join(root, 'scripts/release/pack.mjs'), ...(isRelease ? [] : ['--host'])]);
const faults = code === 0 ? [...early, ...contentFaults()] : [...early, 'packing failed'];

if (code === 0) for (const name of readdirSync(OUT).sort()) show(name);
const open = releaseFaults();
if (open.length > 0) console.log(`\nbefore it can be published:\n${open.map((line) => `  ${line}`).join('\n')}`);
console.log(faults.length === 0 ? '\ndry run: all is well' : `\ndry run: failed:\n${faults.map((line) => `  ${line}`).join('\n')}`);
process.exitCode = faults.length === 0 ? 0 : 1;

function show(name) {
  const files = filesOf(name);
  const content = readFileSync(join(OUT, name));
  const bytes = [...files.values()].reduce((sum, one) => sum + one.length, 0);
  console.log(`\n${name}: ${files.size} files, ${bytes} bytes, packed ${content.length}`);
  console.log(`  sha256 ${createHash('sha256').update(content).digest('hex')}`);
  const paths = [...files.keys()].sort();
  for (const folder of [...new Set(paths.map(dirname))].sort()) {
    const own = paths.filter((path) => dirname(path) === folder).map((path) => basename(path));
    console.log(`  ${folder}: ${own.join(' ')}`);
  }
}

// Approves the staged packages of this version: what is staged has to be equal, to the byte, to the tarballs in
// target/packages, which are those of the release on GitHub. The packages with the addons come first, so that the main
// package never names a missing one. npm asks for the second factor.
//
//   gh release download v8.0.0 --pattern '*.tgz' --dir target/packages
//   node scripts/release/approve.mjs --dry-run    compares, and prints the commands
//   node scripts/release/approve.mjs

import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { npm } from '../run.mjs';
import { packageNames, tarball } from './pack.mjs';
import { manifest } from './systems.mjs';

const OPTIONS = { 'dry-run': { type: 'boolean' }, registry: { type: 'string' } };
const { values: options } = parseArgs({ options: OPTIONS });
const registry = options.registry === undefined ? [] : ['--registry', options.registry];

const staged = new Map();
for (const name of packageNames) staged.set(name, await verified(name));
for (const [name, id] of staged) {
  if (options['dry-run']) console.log(`npm stage approve ${id}  # ${name}`);
  else if (id !== null) await succeed(['stage', 'approve', id, ...registry]);
}

/** The id of a staged package; null if it is published. Ends the process if it is another one than ours. */
async function verified(name) {
  const spec = `${name}@${manifest.version}`;
  const { output } = await npm(['stage', 'list', name, '--json', '--silent', ...registry], { capture: true });
  const found = JSON.parse(output).filter(({ packageName, version }) => packageName === name && version === manifest.version);
  if (found.length === 0) {
    const { output: published } = await npm(['view', spec, 'version', '--silent', ...registry], { capture: true });
    return published.trim() === manifest.version ? null : giveUp(`${spec} is neither staged nor published`);
  }
  const [{ id }] = found;
  const folder = mkdtempSync(join(tmpdir(), 'reactor-ws-staged-'));
  await succeed(['stage', 'download', id, ...registry], folder);
  const [file] = readdirSync(folder);
  const [theirs, ours] = [join(folder, file), tarball(name)].map(hash);
  rmSync(folder, { recursive: true });
  if (theirs !== ours) giveUp(`${spec}: staged with sha256 ${theirs}, and target/packages has ${ours}`);
  console.log(`${spec}: ${id} is equal, sha256 ${ours}`);
  return id;
}

async function succeed(args, cwd) {
  const { code } = await npm(args, { cwd });
  if (code !== 0) process.exit(1);
}

function hash(file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

function giveUp(reason) {
  console.error(reason);
  process.exit(1);
}

// Stages target/packages on npm: the packages with the addons first. Until a maintainer approves them (approve.mjs), they
// cannot be installed.
//
//   node scripts/release/publish.mjs --dry-run
//   node scripts/release/publish.mjs
//     By hand, after npm login: the first version, which creates the packages.
//   node scripts/release/publish.mjs --provenance
//     In release.yml, which has no token: npm trusts the workflow.
//   node scripts/release/publish.mjs --registry http://127.0.0.1:4873/ [--direct]
//     A trial; `--direct`: `npm publish`, for a registry that stages nothing.
//
// Packages that exist or are staged in this version are left as they are, so that the command can be repeated after a
// failure.

import { existsSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';

import { npm } from '../run.mjs';
import { RELEASED, packageNames, tarball } from './pack.mjs';
import { releaseFaults, versionFaults } from './ready.mjs';
import { manifest } from './systems.mjs';

const OPTIONS = { 'dry-run': { type: 'boolean' }, direct: { type: 'boolean' }, provenance: { type: 'boolean' }, registry: { type: 'string' }, tag: { type: 'string' } };
const { version } = manifest;

const { values: options } = parseArgs({ options: OPTIONS });
const isTrial = options.registry !== undefined && new URL(options.registry).hostname === '127.0.0.1';
const faults = isTrial ? missing() : [...missing(), ...unready()];
if (faults.length > 0) {
  console.error(faults.join('\n'));
  process.exit(1);
}
const registry = options.registry === undefined ? [] : ['--registry', options.registry];
const command = isTrial && options.direct ? ['publish'] : ['stage', 'publish'];
for (const name of packageNames) await publish(name);

async function publish(name) {
  const { output } = await npm(['view', `${name}@${version}`, 'version', ...registry, '--silent'], { capture: true });
  if (output.trim() === version) return console.log(`${name}@${version} is published`);
  const flags = ['dry-run', 'provenance'].filter((flag) => options[flag]).map((flag) => `--${flag}`);
  const tag = options.tag ?? (version.includes('-') ? 'next' : 'latest');
  const ended = await npm([...command, tarball(name), '--access', 'public', '--tag', tag, ...flags, ...registry], { capture: true });
  // A workflow's token stages, and reads no list of what is staged: the registry's answer tells.
  if (ended.code !== 0 && /\bE409\b|already (been )?staged/i.test(ended.output)) return console.log(`${name}@${version} is staged`);
  if (ended.code !== 0) process.exit(1);
}

function missing() {
  return packageNames.filter((name) => !existsSync(tarball(name))).map((name) => `${tarball(name)}: missing; run scripts/release/pack.mjs`);
}

/** The conditions of a release, which a trial does not need. */
function unready() {
  const found = [...versionFaults(), ...releaseFaults()];
  const main = tarball('reactor-ws');
  if (existsSync(main) && !gunzipSync(readFileSync(main)).includes(RELEASED)) {
    found.push(`${main}: packed for a test; run scripts/release/pack.mjs without an option`);
  }
  return found;
}

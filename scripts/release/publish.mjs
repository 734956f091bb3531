// Publishes target/packages: the packages with the addons first, so that the main
// package never names a missing one.
//
//   node scripts/release/publish.mjs --dry-run
//   node scripts/release/publish.mjs
//     By hand, after npm login: the first version, which creates the packages.
//   node scripts/release/publish.mjs --provenance
//     In release.yml, which has no token: npm trusts the workflow.
//   node scripts/release/publish.mjs --registry http://127.0.0.1:4873/
//     A trial.
//
// Packages that exist in this version are left as they are, so that the command
// may be repeated after a failure.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';

import { npm } from '../run.mjs';
import { OUT, RELEASED } from './pack.mjs';
import { releaseFaults, versionFaults } from './ready.mjs';
import { manifest, systems } from './systems.mjs';

const OPTIONS = { 'dry-run': { type: 'boolean' }, provenance: { type: 'boolean' }, registry: { type: 'string' }, tag: { type: 'string' } };
const { version } = manifest;

const { values: options } = parseArgs({ options: OPTIONS });
const names = [...systems.map(({ name }) => `reactor-ws-${name}`), 'reactor-ws'];
const isTrial = options.registry !== undefined && new URL(options.registry).hostname === '127.0.0.1';
const faults = isTrial ? missing() : [...missing(), ...unready()];
if (faults.length > 0) {
  console.error(faults.join('\n'));
  process.exit(1);
}
const registry = options.registry === undefined ? [] : ['--registry', options.registry];
for (const name of names) await publish(name);

async function publish(name) {
  const { output } = await npm(['view', `${name}@${version}`, 'version', ...registry, '--silent'], { capture: true });
  if (output.trim() === version) return console.log(`${name}@${version} is published`);
  const flags = ['dry-run', 'provenance'].filter((flag) => options[flag]).map((flag) => `--${flag}`);
  const tag = options.tag ?? (version.includes('-') ? 'next' : 'latest');
  const { code } = await npm(['publish', tarball(name), '--access', 'public', '--tag', tag, ...flags, ...registry]);
  if (code !== 0) process.exit(1);
}

function missing() {
  return names.filter((name) => !existsSync(tarball(name))).map((name) => `${tarball(name)}: missing; run scripts/release/pack.mjs`);
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

function tarball(name) {
  return join(OUT, `${name}-${version}.tgz`);
}

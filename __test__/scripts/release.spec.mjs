// The conditions of a release: one version everywhere, pinned actions, all fuzz targets.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import test from 'ava';

import { changesOf, versionFaults } from '../../scripts/release/ready.mjs';
import { manifest } from '../../scripts/release/systems.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path) => readFileSync(join(root, path), 'utf8');

test('one version everywhere, which CHANGELOG.md describes', (t) => {
  t.deepEqual(versionFaults(), []);
  t.true(changesOf(manifest.version).length > 0);
  t.is(changesOf('7.0.0'), null);
});

test('actions are pinned by a commit, and named by a version', (t) => {
  const folder = '.github/workflows';
  const used = readdirSync(join(root, folder)).flatMap((name) => [...read(join(folder, name)).matchAll(/uses: (.*)/g)].map(([, one]) => one));
  t.true(used.length > 0);
  t.deepEqual(used.filter((one) => !/^[\w-]+\/[\w/-]+@[0-9a-f]{40} # v\d+(\.\d+)*$/.test(one)), []);
  // One commit for each version: two of them would be a mistake.
  t.is(new Set(used).size, new Set(used.map((one) => one.split('@')[0])).size);
});

test('each fuzz target is a program of fuzz/Cargo.toml, from which ClusterFuzzLite has them', (t) => {
  const programs = [...read('fuzz/Cargo.toml').matchAll(/^path = "fuzz_targets\/(.*)"$/gm)].map(([, name]) => name);
  t.deepEqual(programs.sort(), readdirSync(join(root, 'fuzz/fuzz_targets')).sort());
});

// Packages of others on top of this one, from npm, each with its own client over real sockets.
//
//   npm run test:ecosystem                           what CI runs: the packages of this folder
//   npm run test:ecosystem -- --all                  those of the folders in it as well, on Node 22 or later
//   npm run test:ecosystem -- socket-io express      some of this folder
//   npm run test:ecosystem -- frameworks/hono nuxt   some of another folder, or all of it
//   npm run test:ecosystem -- --all --packed         with what npm installs from the tarballs, in place of the repository
//
// Each package.json is as a user writes it: `ws` is overridden by this package, here a link to the
// repository. Packages that take a class or a server as an option keep their `ws`, to prove that the
// option decides; clients keep theirs.

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { sum } from '../../scripts/counts.mjs';
import { nodeBinary } from '../../scripts/node-binary.mjs';
import { nodeTests, report } from '../../scripts/node-test.mjs';
import { npm } from '../../scripts/run.mjs';
import { ensureDependencies, isInstalled, setup } from '../../scripts/setup.mjs';
import { FOLDERS, FRAMEWORKS, table } from './frameworks.mjs';
import { installPacked, replaceLinks } from './helpers/installed.mjs';

const HERE = fileURLToPath(new URL('.', import.meta.url));
/** What some of the packages in the other folders want at least. */
const NODE = '22';

const words = process.argv.slice(2);
const isPacked = words.includes('--packed');
const chosen = choose(words.filter((word) => word !== '--packed'));
await setup();
if (isPacked) await installPacked();
const results = [];
for (const [folder, names] of chosen) results.push(await testsOf(folder, names));
console.log(table(FRAMEWORKS.filter(({ folder }) => chosen.has(folder))));
report({ ...sum(results), failures: results.flatMap(({ failures = [] }) => failures) });

/** Names of test files by folder; none is all of them. @param {string[]} words */
function choose(words) {
  if (words.includes('--all')) return new Map(['.', ...FOLDERS].map((folder) => [folder, []]));
  const all = new Map(words.length === 0 ? [['.', []]] : []);
  for (const word of words) {
    const [folder, name] = word.includes('/') ? word.split('/') : FOLDERS.includes(word) ? [word] : ['.', word];
    all.set(folder, [...(all.get(folder) ?? []), ...(name === undefined ? [] : [name])]);
  }
  return all;
}

async function testsOf(name, names) {
  const folder = join(HERE, name);
  if (name === '.') {
    await ensureDependencies(folder);
    if (isPacked) replaceLinks(folder);
    return nodeTests(folder, names);
  }
  const node = Number(process.versions.node.split('.')[0]) < Number(NODE) ? await nodeBinary(NODE) : process.execPath;
  if (node === null) return leftOut(name, `no Node ${NODE}`);
  if (!isInstalled(folder) && (await npm(['ci', '--prefix', folder])).code !== 0) return leftOut(name, 'npm ci failed');
  if (isPacked) replaceLinks(folder);
  return nodeTests(folder, names, { node });
}

/** Without a network these packages cannot be had. @type {(folder: string, why: string) => object} */
function leftOut(folder, why) {
  console.log(`\nleft out: ${folder}: ${why}`);
  return { passed: 0, failed: 0, skipped: 1, failures: [] };
}

// npm run test:node-versions: the same addon and the same ava suite on every
// supported Node, one after the other.
//
//   npm run test:node-versions                 20, 22, 24 and 26
//   npm run test:node-versions -- 20 24        some of them

import { execFileSync } from 'node:child_process';
import { delimiter, dirname } from 'node:path';

import { formatCounts, formatFailures, parseAva, resultOf, sum } from './counts.mjs';
import { nodeBinary } from './node-binary.mjs';
import { run } from './run.mjs';
import { setup } from './setup.mjs';

const VERSIONS = ['20', '22', '24', '26'];

const wanted = process.argv.slice(2);
await setup();
const results = [];
for (const version of wanted.length > 0 ? wanted : VERSIONS) results.push(await testOn(version));

console.log('');
for (const { name, ...counts } of results) console.log(`${name.padEnd(14)} ${formatCounts(counts)}`);
for (const result of results) for (const line of formatFailures(result, result.name)) console.log(line);
const total = sum(results);
console.log(formatCounts(total));
process.exitCode = total.failed > 0 ? 1 : 0;

async function testOn(version) {
  const node = await nodeBinary(version);
  if (node === null) return { name: `node ${version}`, passed: 0, failed: 1, skipped: 0, failures: ['not installed'] };
  const name = `node ${execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()}`;
  const env = { PATH: `${dirname(node)}${delimiter}${process.env.PATH}` };
  const ended = await run(node, ['node_modules/ava/entrypoints/cli.mjs'], { env, capture: true });
  return { name, ...resultOf(parseAva, ended) };
}

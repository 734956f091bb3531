// npm run release:reproduce: builds the addon of HEAD in two folders, as for a release, and compares
// the files byte by byte; those of linux-x64-gnu, or `-- linux-arm64-musl`. With the path of a published addon it makes one
// build, and compares that.
//
//   npm run release:reproduce -- linux-x64-gnu node_modules/reactor-ws-linux-x64-gnu/reactor-ws.linux-x64-gnu.node

import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { root, run } from '../run.mjs';

const [system = 'linux-x64-gnu', published] = process.argv.slice(2);
// The repository can move on during a build.
const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim();
const base = mkdtempSync(join(tmpdir(), 'reactor-ws-reproduce-'));
// The lengths differ, so that a path in a file moves all that follows.
const folders = [join(base, 'a'), join(base, 'another/folder/of/the/same/commit')];
try {
  const [first, second] = [await build(folders[0]), published ? readFileSync(published) : await build(folders[1])];
  for (const [name, content] of [['build', first], [published ?? 'another build', second]]) {
    console.log(`${name}: ${content.length} bytes, sha256 ${createHash('sha256').update(content).digest('hex')}`);
  }
  const places = differences(first, second);
  const paths = [base, root, process.env.HOME].filter((path) => path && first.includes(path));
  for (const path of paths) console.error(`the addon names ${path}`);
  if (places > 0) console.error(`${places} bytes differ: compare them by \`readelf --wide --all\` and \`objdump -d\``);
  process.exitCode = places === 0 && paths.length === 0 ? 0 : 1;
  if (process.exitCode === 0) console.log('both are equal');
} finally {
  rmSync(base, { force: true, recursive: true });
}

async function build(folder) {
  execFileSync('git', ['clone', '--quiet', '--no-hardlinks', '--no-checkout', root, folder]);
  execFileSync('git', ['-C', folder, 'checkout', '--quiet', '--detach', commit]);
  const { code } = await run(process.execPath, [join(folder, 'scripts/release/addon.mjs'), system]);
  if (code !== 0) throw new Error(`building in ${folder} failed`);
  return readFileSync(join(folder, 'npm', system, `reactor-ws.${system}.node`));
}

/** How many bytes differ. */
function differences(first, second) {
  let count = Math.abs(first.length - second.length);
  for (let at = 0; at < Math.min(first.length, second.length); at++) if (first[at] !== second[at]) count++;
  return count;
}

// The needs of every command: the npm dependencies, and an addon that is not older than its
// sources. It runs before node_modules exists, so it imports nothing but Node itself.

import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { npm, root, run } from './run.mjs';

const NATIVE = join(root, 'lib/native');
const DECLARATIONS = join(NATIVE, 'binding.d.ts');
/** The marks that `npm run build:debug` and `build:light` write above the declarations. */
const DEBUG = '// A debug build.';
const LIGHT = '// A light build.';
const SOURCES = ['src', 'crates', 'build.rs', 'Cargo.toml', 'Cargo.lock'];

/**
 * Installs dependencies and builds the addon where needed; ends the process when that fails.
 *
 * @param {'light' | 'release'} [build] `release`: the addon that users get, which takes a minute
 */
export async function setup(build = 'light') {
  await ensureDependencies();
  await ensureAddon(build);
}

/**
 * `npm ci` in a package of this repository, if its node_modules is missing or
 * older than its package-lock.json.
 */
export async function ensureDependencies(folder = root) {
  if (isInstalled(folder)) return;
  const { code } = await npm(['ci', '--no-audit', '--no-fund', ...(folder === root ? [] : ['--prefix', folder])]);
  if (code !== 0) giveUp(`npm ci failed${folder === root ? '' : ` in ${folder}`}`);
}

/** Whether node_modules has what package-lock.json says. @param {string} folder */
export function isInstalled(folder) {
  const installed = join(folder, 'node_modules/.package-lock.json');
  return existsSync(installed) && modified(installed) >= modified(join(folder, 'package-lock.json'));
}

/**
 * Builds the addon, if there is none, it is older than its sources, or it is not a release and has
 * to be one.
 */
async function ensureAddon(build) {
  if (addonIsFresh() && (build === 'light' || !isMarked(DEBUG, LIGHT))) {
    if (isMarked(DEBUG)) console.log('lib/native has a debug build, which is several times slower: npm run build makes a release');
    return;
  }
  const { code: cargo } = await run('cargo', ['--version']);
  if (cargo !== 0) giveUp('cargo is needed to build the addon: install Rust from https://rustup.rs');
  const { code } = await npm(['run', build === 'release' ? 'build' : 'build:light']);
  if (code !== 0 || !addonIsFresh()) giveUp('building the addon failed');
}

function isMarked(...marks) {
  const declarations = readFileSync(DECLARATIONS, 'utf8');
  return marks.some((mark) => declarations.startsWith(mark));
}

function addonIsFresh() {
  const addon = newest([NATIVE], (name) => name.endsWith('.node'));
  return (
    addon > 0 && existsSync(DECLARATIONS) && addon >= newest(SOURCES.map((name) => join(root, name)))
  );
}

/** Time of the youngest file in `paths` and the folders below them; 0 when there is none. */
function newest(paths, wanted = () => true) {
  let latest = 0;
  for (const path of paths) {
    if (!existsSync(path)) continue;
    if (statSync(path).isDirectory()) {
      const inside = readdirSync(path).map((name) => join(path, name));
      latest = Math.max(latest, newest(inside, wanted));
    } else if (wanted(path)) {
      latest = Math.max(latest, modified(path));
    }
  }
  return latest;
}

function modified(file) {
  return statSync(file).mtimeMs;
}

function giveUp(reason) {
  console.error(`\n${reason}`);
  process.exit(1);
}

// Builds the addons that are published, and reads them again: small,
// for old systems, without symbols.
//
//   node scripts/release/addon.mjs linux-x64-gnu linux-arm64-musl
//
// For Linux this needs cargo-zigbuild, which links for any C library:
// `pip install -r npm/requirements.txt`. The symbols go to target/symbols. An addon for development
// is built by `npm run build`, with plain cargo, for this system, with symbols.

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';

import { root, run } from '../run.mjs';
import { systems } from './systems.mjs';

/** RHEL 7, Amazon Linux 2 and later systems; Node 20 itself needs 2.28. */
const GLIBC = '2.17';
const MOST_BYTES = 6 * 1024 * 1024;
const LIBRARIES = { darwin: 'libreactor_ws.dylib', linux: 'libreactor_ws.so', windows: 'reactor_ws.dll' };
/**
 * The libraries that an addon may need of a system: the parts of the C
 * library, and nothing of a compiler.
 */
const NEEDED = /^(libc|ld-linux-[\w-]+|libpthread|libdl|libm|librt)\.so(\.\d)?$/;

if (process.argv[1] === import.meta.filename) {
  for (const name of process.argv.slice(2)) await build(systemOf(name));
}

function systemOf(name) {
  const system = systems.find((one) => one.name === name);
  if (system !== undefined) return system;
  return giveUp(`no system ${name}; there are ${systems.map((one) => one.name).join(', ')}`);
}

async function build(system) {
  const { file, name, platform, target } = system;
  const linux = platform === 'linux';
  const wanted = name.endsWith('-gnu') ? `${target}.${GLIBC}` : target;
  const args = [...(linux ? ['zigbuild'] : ['build']), '--release', '--lib', '--target', wanted];
  // Elsewhere the linker strips: a signature of macOS covers the whole file.
  const env = { CARGO_ENCODED_RUSTFLAGS: flags(name), ...(linux ? {} : { CARGO_PROFILE_RELEASE_STRIP: 'symbols' }) };
  const { code } = await run('cargo', args, { env });
  if (code !== 0) giveUp(`building for ${name} failed`);
  const built = join(root, 'target', target, 'release', LIBRARIES[platform]);
  if (linux) splitSymbols(built, file);
  else copyFileSync(built, file);
  const faults = faultsOf(system);
  const { size } = statSync(file);
  console.log(`${basename(file)}: ${size} bytes${name.endsWith('-gnu') ? `, glibc ${newestGlibc(file)}` : ''}`);
  if (faults.length > 0) giveUp(faults.join('\n'));
}

/**
 * Published files have no path of this machine; for musl the addon is linked
 * with the C library of the process.
 */
function flags(name) {
  const home = process.env.CARGO_HOME ?? join(homedir(), '.cargo');
  const moved = [`--remap-path-prefix=${home}=/cargo`, `--remap-path-prefix=${root}=/reactor-ws/`];
  return [...moved, ...(name.endsWith('-musl') ? ['-Ctarget-feature=-crt-static'] : [])].join('\x1f');
}

/** Moves the symbols into a file of their own, which a debugger and perf find by its name. */
function splitSymbols(built, file) {
  const sysroot = execFileSync('rustc', ['--print', 'sysroot'], { encoding: 'utf8' }).trim();
  const host = /host: (\S+)/.exec(execFileSync('rustc', ['-vV'], { encoding: 'utf8' }))[1];
  // The tool of Rust: that of this system may not know other systems.
  const objcopy = (...args) =>
    execFileSync(join(sysroot, 'lib/rustlib', host, 'bin/rust-objcopy'), args, {
      env: { ...process.env, LD_LIBRARY_PATH: join(sysroot, 'lib') },
    });
  const folder = join(root, 'target/symbols');
  mkdirSync(folder, { recursive: true });
  const symbols = join(folder, `${basename(file)}.debug`);
  objcopy('--only-keep-debug', built, symbols);
  objcopy('--strip-all', `--add-gnu-debuglink=${symbols}`, built, file);
}

/**
 * @param {(typeof systems)[number]} system Whose addon is read
 * @returns {string[]} One line for each reason not to publish it
 */
export function faultsOf({ file, name, platform }) {
  const found = [];
  const { size } = statSync(file);
  if (size > MOST_BYTES) found.push(`${name}: ${size} bytes, more than ${MOST_BYTES}`);
  if (platform !== 'linux') return found;
  const symbols = readelf('-SW', file).match(/\.(symtab|debug_\w+)\b/g) ?? [];
  if (symbols.length > 0) found.push(`${name}: not stripped: ${symbols.join(' ')}`);
  const needed = [...readelf('-dW', file).matchAll(/\(NEEDED\).*\[(.*)\]/g)].map(([, library]) => library);
  const foreign = needed.filter((library) => !NEEDED.test(library));
  if (foreign.length > 0) found.push(`${name}: needs ${foreign.join(' ')}`);
  const glibc = newestGlibc(file);
  if (name.endsWith('-gnu') ? compare(glibc, GLIBC) > 0 : glibc !== '') found.push(`${name}: needs glibc ${glibc}`);
  return found;
}

/** The newest version of glibc of which a symbol is needed; '' when there is none. */
function newestGlibc(file) {
  const versions = [...readelf('-VW', file).matchAll(/\bGLIBC_(\d+(?:\.\d+)+)/g)].map(([, version]) => version);
  return versions.sort(compare).at(-1) ?? '';
}

function compare(a, b) {
  return a.localeCompare(b, 'en', { numeric: true });
}

function readelf(...args) {
  return execFileSync('readelf', args, { encoding: 'utf8', env: { ...process.env, LC_ALL: 'C' } });
}

function giveUp(reason) {
  console.error(reason);
  process.exit(1);
}

// Folders of users: the packed packages, installed where no compiler, cargo or git is found.
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const PROGRAMS = fileURLToPath(new URL('programs', import.meta.url));
export const PACKED = fileURLToPath(new URL('../../target/packages', import.meta.url));
/** The npm that is beside Node, or that started this process. */
export const NPM = process.env.npm_execpath ?? fileURLToPath(new URL('../lib/node_modules/npm/bin/npm-cli.js', `file://${process.execPath}`));

/**
 * @param {import('node:test').TestContext} t The test, whose end removes the folder
 * @returns {string} A folder with the programs and a PATH of its own, `bin`: Node and a shell
 */
export function emptyProject(t) {
  const folder = mkdtempSync(join(tmpdir(), 'reactor-ws-user-'));
  t.after(() => rmSync(folder, { force: true, recursive: true }));
  mkdirSync(join(folder, 'bin'));
  symlinkSync(process.execPath, join(folder, 'bin/node'));
  symlinkSync('/bin/sh', join(folder, 'bin/sh'));
  cpSync(PROGRAMS, folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  return folder;
}

/**
 * @param {string} folder The working directory, with no other programs on PATH
 * @param {string[]} command The program, and its arguments
 * @param {Record<string, string>} [env] More of the environment
 * @returns {Promise<string>} The output
 */
export async function runIn(folder, [program, ...args], env = {}) {
  const own = { HOME: folder, PATH: join(folder, 'bin'), ...env };
  const { stdout } = await promisify(execFile)(program, args, { cwd: folder, env: own, maxBuffer: 2 ** 26 });
  return stdout;
}

/** Installs the tarballs, those of this system or another, without a registry. */
export async function installTarballs(folder, flags = []) {
  const tarballs = readdirSync(PACKED).map((name) => join(PACKED, name));
  const main = tarballs.filter((path) => /reactor-ws-\d/.test(path));
  // npm refuses a package for another system that is asked for by name, so these are left
  // to the main package, as overrides.
  const overrides = tarballs.filter((path) => !main.includes(path));
  const named = overrides.map((path) => [/reactor-ws-[a-z].*(?=-\d)/.exec(path)[0], `file:${path}`]);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, overrides: Object.fromEntries(named) }));
  await runIn(folder, [process.execPath, NPM, 'install', '--offline', '--no-audit', '--no-fund', ...flags, ...main]);
  return installed(folder);
}

/** Names of the packages with addons in node_modules. */
export function installed(folder) {
  return readdirSync(join(folder, 'node_modules')).filter((name) => name.startsWith('reactor-ws-'));
}

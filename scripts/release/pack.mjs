// Packs the published files into target/packages: the packages with the addons, and the main
// package, which names all of them.
//
//   node scripts/release/pack.mjs              for a release: one without an addon is an error
//   node scripts/release/pack.mjs --trial      for tests: where one is missing, a file that is none
//   node scripts/release/pack.mjs --host       for tests: the same, with lib/native for this one

import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';

import { npm, root } from '../run.mjs';
import { faultsOf } from './addon.mjs';
import { manifest, systems } from './systems.mjs';

export const OUT = join(root, 'target/packages');
/** The source of `repository`, `homepage` and `bugs`; one place for all packages. */
const SHARED = ['version', 'license', 'author', 'repository', 'homepage', 'bugs', 'engines'];
/** The fields of the main package for those who work on it. */
const OWN = ['scripts', 'devDependencies', 'ava', 'overrides', 'allowScripts', 'napi'];

/** Tells packages of a release, whose errors may advise `npm install`, from those of a test. */
export const RELEASED = '"released": true';

/** The packages in the order of their release: the main package names the others. */
export const packageNames = [...systems.map(({ name }) => `reactor-ws-${name}`), 'reactor-ws'];

if (process.argv[1] === import.meta.filename) await pack(process.argv[2] ?? '');

async function pack(mode) {
  const packed = mode === '--host' ? systems.map(withHostAddon) : systems;
  const absent = packed.filter(({ file }) => !existsSync(file));
  if (mode === '' && absent.length > 0) giveUp(`no addon for ${absent.map(({ name }) => name).join(', ')}`);
  const faults = mode === '--host' ? [] : packed.filter((system) => !absent.includes(system)).flatMap(faultsOf);
  if (faults.length > 0) giveUp(faults.join('\n'));

  rmSync(OUT, { force: true, recursive: true });
  mkdirSync(OUT, { recursive: true });
  const folders = [...packed.map(stageAddon), stageMain(mode === '')];
  const { code } = await npm(['pack', ...folders, '--pack-destination', OUT, '--silent']);
  if (code !== 0) giveUp('npm pack failed');
  for (const folder of folders) rmSync(folder, { recursive: true });
}

/** This system has the addon of lib/native, and no other one has any. */
function withHostAddon(system) {
  const { systemName } = createRequire(import.meta.url)('../../lib/reactor/addon.js');
  const isHost = system.name === systemName();
  return { ...system, file: isHost ? join(root, 'lib/native', basename(system.file)) : '' };
}

/** Makes a folder with a package of an addon. */
function stageAddon({ file, folder, name }) {
  const staged = join(OUT, name);
  mkdirSync(staged);
  const addon = join(staged, `reactor-ws.${name}.node`);
  if (existsSync(file)) copyFileSync(file, addon);
  else writeFileSync(addon, 'no addon\n');
  copyFileSync(join(folder, 'README.md'), join(staged, 'README.md'));
  copyFileSync(join(root, 'LICENSE'), join(staged, 'LICENSE'));
  copyFileSync(join(root, 'npm/THIRD-PARTY.md'), join(staged, 'THIRD-PARTY.md'));
  const own = read(join(folder, 'package.json'));
  // preferUnplugged: an addon cannot be loaded from the archive in which Yarn keeps a package.
  writeManifest(staged, { ...own, ...common(), files: [...own.files, 'THIRD-PARTY.md'], preferUnplugged: true });
  return staged;
}

/** Makes a folder with the main package: the files of `files`, and a manifest for users. */
function stageMain(isRelease) {
  const staged = join(OUT, 'main');
  for (const file of publishedFiles()) cpSync(join(root, file), join(staged, file));
  writeManifest(staged, mainManifest(isRelease));
  return staged;
}

/** The files of `files` in package.json that are in git, and those that npm always packs. */
export function publishedFiles() {
  const tracked = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).split('\n');
  const expression = (pattern) => pattern.replaceAll('.', '\\.').replaceAll(/(\*\*\/)?\*/g, (_, deep) => `${deep ? '(?:.+/)?' : ''}[^/]*`);
  const patterns = manifest.files.map((pattern) => new RegExp(`^${expression(pattern)}$`));
  return ['LICENSE', 'README.md', ...tracked.filter((path) => patterns.some((pattern) => pattern.test(path)))];
}

/** The manifest of the main package, for users. */
export function mainManifest(isRelease) {
  const rest = Object.fromEntries(Object.entries(manifest).filter(([key]) => !OWN.includes(key)));
  const optionalDependencies = Object.fromEntries(systems.map(({ name }) => [`reactor-ws-${name}`, manifest.version]));
  return { ...rest, optionalDependencies, ...(isRelease ? JSON.parse(`{ ${RELEASED} }`) : {}) };
}

/** The path of a packed package. @param {string} name */
export function tarball(name) {
  return join(OUT, `${name}-${manifest.version}.tgz`);
}

function common() {
  return Object.fromEntries(SHARED.filter((key) => key in manifest).map((key) => [key, manifest[key]]));
}

function writeManifest(folder, content) {
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(content, null, 2)}\n`);
}

function read(file) {
  return JSON.parse(readFileSync(file, 'utf8'));
}

function giveUp(reason) {
  console.error(reason);
  process.exit(1);
}

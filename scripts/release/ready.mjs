// What keeps a version from being released.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import { root } from '../run.mjs';
import { manifest, systems } from './systems.mjs';

const { version } = manifest;

/** @returns {string[]} One line for each file that names another version than package.json */
export function versionFaults() {
  const { VERSION } = createRequire(import.meta.url)('../../lib/base/layout.js');
  const places = [
    ['Cargo.toml', /^version = "(.*)"/m.exec(read('Cargo.toml'))[1]],
    ['Cargo.lock', /^name = "reactor-ws"\nversion = "(.*)"/m.exec(read('Cargo.lock'))[1]],
    ['package-lock.json', JSON.parse(read('package-lock.json')).version],
    ['lib/base/layout.js', VERSION],
    ...systems.map(({ name }) => [`npm/${name}/package.json`, JSON.parse(read(`npm/${name}/package.json`)).version]),
  ];
  return places.filter(([, its]) => its !== version).map(([file, its]) => `${file}: version ${its}, and package.json has ${version}`);
}

/** @returns {string[]} One line for each condition of a release that a trial does not need */
export function releaseFaults() {
  const found = [];
  if (!/^git\+https:\/\/\S+\.git$/.test(manifest.repository?.url ?? '')) {
    const wanted = '"repository": { "type": "git", "url": "git+https://….git" }';
    found.push(`package.json: add ${wanted}; pack.mjs writes it into all packages, and npm compares it with the origin of a release`);
  }
  if (changesOf(version) === null) found.push(`CHANGELOG.md: no heading ## [${version}]`);
  return found;
}

/** The part of CHANGELOG.md about a version, without its heading; null if there is none. */
export function changesOf(wanted) {
  const [, ...sections] = read('CHANGELOG.md').split(/^## /m);
  const own = sections.find((section) => section.startsWith(`[${wanted}]`));
  return own === undefined ? null : own.slice(own.indexOf('\n') + 1).trim();
}

function read(path) {
  return readFileSync(join(root, path), 'utf8');
}

'use strict';

const { existsSync, lstatSync, realpathSync } = require('node:fs');
const { join, sep } = require('node:path');

const { ancestors, listPackages, readManifest } = require('./project');

/** @typedef {{ name: string, version: string }} Named */

/**
 * A package that depends on `ws`. `via`: the packages through which the project has it, itself last; empty for the
 * project. `asks`: the range in its package.json. `gets`: null where none is installed, as for a peer that is optional.
 *
 * @typedef {Named & { via: string[], asks: string, gets: (Named & { folder: string }) | null }} Dependant
 */

/** A package and how it was come to. @typedef {{ folder: string, via: string[], member: boolean }} Visit */

/**
 * From the project along its dependencies, as Node would find them in node_modules. `packages` are the names of all that
 * were met.
 *
 * @type {(project: import('./project').Project) => { dependants: Dependant[], packages: Set<string> }}
 */
function dependantsOf({ folder, root }) {
  /** @type {Dependant[]} */
  const dependants = [];
  /** @type {Set<string>} */
  const packages = new Set();
  const visited = new Set();
  const queue = [realpathSync(folder), ...linkedMembers(folder, root)].map((one) => /** @type {Visit} */ ({ folder: one, via: [], member: true }));
  for (const { folder: place, via, member } of queue) {
    if (visited.has(place)) continue;
    visited.add(place);
    const manifest = readManifest(place);
    if (manifest === null) continue;
    const { name = member ? 'this project' : place, version = '' } = manifest;
    packages.add(name);
    for (const [dependency, asks] of Object.entries(dependencies(manifest, member))) {
      const found = resolve(dependency, place);
      const gets = found === null ? null : { ...named(found), folder: found };
      // A project that asks for `ws` by a name of its own means it.
      if (member && dependency !== 'ws' && gets?.name === 'ws') continue;
      if (isWs(dependency, gets)) dependants.push({ name, version, via, asks, gets });
      else if (found !== null) queue.push({ folder: found, via: [...via, dependency], member: false });
    }
  }
  return { dependants, packages };
}

/** Also `ws` by another name, as in `"ws8": "npm:ws@8"`. @type {(dependency: string, gets: Named | null) => boolean} */
function isWs(dependency, gets) {
  return dependency === 'ws' || gets?.name === 'ws';
}

/** @type {(manifest: import('./project').Manifest, member: boolean) => Record<string, string>} */
function dependencies(manifest, member) {
  const { dependencies: own, devDependencies, optionalDependencies, peerDependencies } = manifest;
  return { ...(member ? devDependencies : {}), ...peerDependencies, ...optionalDependencies, ...own };
}

/** @type {(folder: string) => Named} */
function named(folder) {
  const { name = folder, version = '' } = readManifest(folder) ?? {};
  return { name, version };
}

/** The folder of a package, as Node looks for it. @type {(name: string, from: string) => string | null} */
function resolve(name, from) {
  for (const place of ancestors(from)) {
    if (place.endsWith(`${sep}node_modules`)) continue;
    const folder = join(place, 'node_modules', name);
    if (existsSync(join(folder, 'package.json'))) return realpathSync(folder);
  }
  return null;
}

/** Packages of a workspace that are linked into its node_modules. @type {(folder: string, root: string) => string[]} */
function linkedMembers(folder, root) {
  const base = realpathSync(root) + sep;
  const modules = join(folder, 'node_modules');
  const links = listPackages(modules).map((name) => join(modules, name)).filter((path) => lstatSync(path).isSymbolicLink() && existsSync(path));
  return links.map((path) => realpathSync(path)).filter((path) => path.startsWith(base) && !path.includes(`${sep}node_modules${sep}`));
}

module.exports = { dependantsOf };

'use strict';

const { existsSync, readFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { dirname, join } = require('node:path');

const { isBelow8 } = require('../base/ws-range');

/** @typedef {import('./main').Finding} Finding */
/** @typedef {{ name: string, version: string, folder: string }} Found */

/** A package that depends on `ws`, by the range `asks`. `gets`: null where none is installed, as for an optional peer. @typedef {{ name: string, version: string, asks: string, gets: Found | null }} Dependant */

/** @typedef {Record<string, string>} Ranges */
/** @typedef {{ name?: string, version?: string, dependencies?: Ranges, devDependencies?: Ranges, optionalDependencies?: Ranges, peerDependencies?: Ranges }} Manifest */

const OVERRIDE = 'write the override of your package manager, and install again without node_modules and the lock file: docs/migrating-from-ws.md';

/** @param {string} from */
function examineWs(from) {
  const folder = projectOf(from);
  const dependants = dependantsOf(folder);
  const served = dependants.filter(({ gets }) => gets !== null);
  const [ours, theirs] = [true, false].map((isOurs) => served.filter(({ gets }) => (gets?.name === 'reactor-ws') === isOurs));
  /** @type {Finding[]} */
  const problems = [];
  const notes = ours.filter(({ asks }) => isBelow8(asks)).map(({ name, asks }) =>
    finding(`${name} asks for ws ${asks}, and is made for ws 7: text comes as a Buffer, as from ws 8`, `take a version of ${name} for ws 8, or leave it its ws`));
  if (process.versions.bun !== undefined) {
    problems.push(finding("Bun has a ws of its own, which every require('ws') gets there, whatever is installed", 'run the program on Node, or give its libraries a server of reactor-ws where they take one'));
  }
  if (theirs.length !== 0) {
    const names = theirs.map(({ name, gets }) => `${name} (ws ${gets?.version})`).join(', ');
    const what = `${theirs.length} of ${served.length} that depend on ws have ws and not reactor-ws: ${names}`;
    const kept = theirs.filter(({ asks }) => isBelow8(asks)).map(({ name, asks }) => `${name} (${asks})`);
    const left = kept.length === 0 ? '' : `, which leaves theirs to packages that ask for less than 8: ${kept.join(', ')}`;
    const trial = `to try it with them, start the program with node --import reactor-ws/register${left}; to keep it: `;
    // npm puts `ws` in the place of an alias without an override, if a library asks for a version that both have.
    const isMeant = ours.length !== 0 || dependants.some(({ asks }) => asks.includes('reactor-ws'));
    (isMeant ? problems : notes).push(finding(what, `${isMeant ? '' : trial}${OVERRIDE}`));
  }
  return { value: { folder, dependants }, problems, notes };
}

/** That of the nearest package.json. @type {(folder: string) => string} */
function projectOf(folder) {
  let place = folder;
  while (!existsSync(join(place, 'package.json'))) {
    if (place === dirname(place)) return folder;
    place = dirname(place);
  }
  return place;
}

/** From the project along its dependencies. @type {(project: string) => Dependant[]} */
function dependantsOf(project) {
  /** @type {Dependant[]} */
  const dependants = [];
  const places = new Set([project]);
  // Iteration includes elements that are added meanwhile.
  for (const place of places) {
    const isProject = place === project;
    const { name = isProject ? 'this project' : place, version = '', ...manifest } = manifestOf(place);
    const { dependencies, devDependencies, optionalDependencies, peerDependencies } = manifest;
    const all = { ...(isProject ? devDependencies : {}), ...peerDependencies, ...optionalDependencies, ...dependencies };
    for (const [dependency, asks] of Object.entries(all)) {
      const gets = find(dependency, place);
      // Also `ws` by another name; but a project that asks for that means it.
      const isWs = dependency === 'ws' || (gets?.name === 'ws' && !isProject);
      if (isWs) dependants.push({ name, version, asks, gets });
      else if (gets !== null && gets.name !== 'ws') places.add(gets.folder);
    }
  }
  return dependants;
}

/** As Node finds it, or Yarn's Plug'n'Play in its place. @type {(name: string, from: string) => Found | null} */
function find(name, from) {
  const { resolve } = createRequire(join(from, 'package.json'));
  for (const file of [`${name}/package.json`, name]) {
    try {
      const folder = projectOf(dirname(resolve(file)));
      const { name: its = name, version = '' } = manifestOf(folder);
      return { name: its, version, folder };
    } catch {
      // It is not installed, or does not export that.
    }
  }
  return null;
}

/** @type {(folder: string) => Manifest} */
function manifestOf(folder) {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  } catch {
    return {};
  }
}

/** @type {(what: string, remedy: string) => Finding} */
function finding(what, remedy) {
  return { check: 'ws', what, remedy };
}

module.exports = { examineWs };

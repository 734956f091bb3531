'use strict';

const { existsSync } = require('node:fs');
const { dirname, join } = require('node:path');

const { addon, systemName } = require('../reactor/addon');
const { ancestors, listPackages } = require('./project');

/**
 * `path` is null where the runtime does not tell it. `packages`: the packages with addons that are in a node_modules
 * from this package or the project upwards.
 *
 * @typedef {{ version: string | null, path: string | null, packages: string[] }} FoundAddon
 */

/** @param {import('./project').Project} project */
function examineAddon(project) {
  const packages = addonPackages(project);
  try {
    const loaded = addon();
    /** @type {FoundAddon} */
    const value = { version: loaded.version(), path: pathOf(loaded), packages };
    return { value, problems: [], notes: [] };
  } catch (error) {
    /** @type {FoundAddon} */
    const value = { version: null, path: null, packages };
    return { value, problems: [problemOf(/** @type {Error} */ (error), packages)], notes: [] };
  }
}

/** @type {(loaded: object) => string | null} */
function pathOf(loaded) {
  const cached = Object.entries(require.cache).find(([, entry]) => entry?.exports === loaded);
  return cached?.[0] ?? null;
}

/**
 * The error has the reason in its first line and the remedy in its last.
 *
 * @type {(error: Error, packages: string[]) => import('./examine').Finding}
 */
function problemOf({ message }, packages) {
  const [what, ...lines] = message.split('\n');
  const advice = lines.find((line) => line.startsWith('  what to do: '))?.slice('  what to do: '.length);
  const wanted = `reactor-ws-${systemName()}`;
  const foreign = packages.filter((name) => name !== wanted);
  const others = foreign.length === 0 || packages.includes(wanted) ? '' : `; ${foreign.join(', ')} is for another system`;
  return { check: 'addon', what: what.replace('reactor-ws: ', '') + others, remedy: advice ?? 'install reactor-ws again' };
}

/** @type {(project: import('./project').Project) => string[]} */
function addonPackages({ folder }) {
  const own = dirname(dirname(__dirname));
  const places = [...ancestors(own), ...ancestors(folder)].map((place) => join(place, 'node_modules'));
  // Beside this package: where pnpm puts what it depends on.
  const all = new Set([dirname(own), ...places].filter((place) => existsSync(place)));
  const names = [...all].flatMap((place) => listPackages(place)).filter((name) => /^reactor-ws-(darwin|linux|win32)-/.test(name));
  return [...new Set(names)].sort();
}

module.exports = { examineAddon };

'use strict';

const { existsSync } = require('node:fs');
const { join } = require('node:path');

/** @typedef {import('./dependants').Dependant} Dependant */
/** @typedef {{ name: string, reference: string }} Locator */
/** A reference, or name and reference of an alias; null: a peer that nobody provides. @typedef {string | [string, string] | null} Target */

/**
 * The part of the API of Yarn's Plug'n'Play that is used: https://yarnpkg.com/advanced/pnpapi
 *
 * @typedef {object} PnpApi
 * @property {() => Locator[]} getDependencyTreeRoots
 * @property {(name: string, target: Target) => Locator} getLocator
 * @property {(locator: Locator) => { packageDependencies: Map<string, Target>, packageLocation: string } | null} getPackageInformation
 */

/**
 * As `dependantsOf`, from the table that Yarn writes in place of node_modules; null where there is none.
 *
 * @type {(root: string) => { dependants: Dependant[], packages: Set<string> } | null}
 */
function pnpDependantsOf(root) {
  const table = join(root, '.pnp.cjs');
  if (!existsSync(table)) return null;
  const api = /** @type {PnpApi} */ (require(table));
  /** @type {Dependant[]} */
  const dependants = [];
  /** @type {Set<string>} */
  const packages = new Set();
  const visited = new Set();
  const queue = api.getDependencyTreeRoots().map((locator) => ({ locator, via: /** @type {string[]} */ ([]) }));
  for (const { locator, via } of queue) {
    const key = `${locator.name}@${locator.reference}`;
    const information = visited.has(key) ? null : api.getPackageInformation(locator);
    visited.add(key);
    if (information === null) continue;
    packages.add(locator.name);
    for (const [dependency, target] of information.packageDependencies) {
      // Each package is among its own dependencies.
      if (dependency === locator.name) continue;
      const found = target === null ? null : api.getLocator(dependency, target);
      if (via.length === 0 && dependency !== 'ws' && found?.name === 'ws') continue;
      if (dependency === 'ws' || found?.name === 'ws') dependants.push(dependant(api, locator, via, found));
      else if (found !== null) queue.push({ locator: found, via: [...via, dependency] });
    }
  }
  return { dependants, packages };
}

/** @type {(api: PnpApi, locator: Locator, via: string[], found: Locator | null) => Dependant} */
function dependant(api, locator, via, found) {
  const folder = found === null ? '' : (api.getPackageInformation(found)?.packageLocation ?? '');
  const gets = found === null ? null : { name: found.name, version: versionOf(found), folder };
  return { name: locator.name, version: versionOf(locator), via, asks: '', gets };
}

/** From `npm:8.0.0` or `virtual:abc#npm:8.0.0`. @type {(locator: Locator) => string} */
function versionOf({ reference }) {
  return /(?:^|#)npm:([^#:]+)$/.exec(reference)?.[1] ?? '';
}

module.exports = { pnpDependantsOf };

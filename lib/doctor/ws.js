'use strict';

const { VERSION } = require('../base/layout');
const { dependantsOf } = require('./dependants');
const { pnpDependantsOf } = require('./plug-n-play');

/** @typedef {import('./dependants').Dependant} Dependant */
/** @typedef {import('./examine').Finding} Finding */
/** @typedef {import('./project').Project} Project */

/**
 * `ours`: whether reactor-ws is in the place of `ws`: for each package that depends on it, for some, for none, or there
 * is no such package.
 *
 * @typedef {object} WsReport
 * @property {import('./project').ManagerName} manager By its lock file; npm if there is none
 * @property {'all' | 'some' | 'none' | 'unused'} ours
 * @property {Dependant[]} dependants
 * @property {import('./project').Declared[]} overrides
 */

/** Packages with a copy of `ws` in their own files. */
const WITH_COPIES = ['crossws', 'playwright-core', 'vite'];

const SPEC = `npm:reactor-ws@^${VERSION}`;
const DEPENDENCY = `write "dependencies": { "ws": "${SPEC}" }`;

/** What puts reactor-ws in the place of `ws`; docs/migrating-from-ws.md has the same. @type {Record<Project['manager'], string>} */
const OVERRIDE = {
  npm: `${DEPENDENCY} and "overrides": { "ws": "$ws" } into package.json, then run: npm install`,
  pnpm: `${DEPENDENCY} into package.json, and "overrides:" with "  ws: ${SPEC}" below it into pnpm-workspace.yaml, then run: pnpm install`,
  yarn: `${DEPENDENCY} and "resolutions": { "ws": "${SPEC}" } into package.json, then run: yarn install`,
  bun: `${DEPENDENCY} and "overrides": { "ws": "${SPEC}" } into package.json, then run: bun install`,
  deno: `${DEPENDENCY} and "overrides": { "ws": "${SPEC}" } into package.json, then run: deno install`,
};

/** For an override that is read. @type {Record<Project['manager'], string>} */
const AGAIN = {
  npm: 'remove node_modules and package-lock.json, then run: npm install',
  pnpm: `${DEPENDENCY} into package.json, for those that ask for ws as a peer, then run: pnpm install`,
  yarn: 'run: yarn install',
  bun: 'remove node_modules and bun.lock, then run: bun install',
  deno: 'remove node_modules and deno.lock, then run: deno install. Deno overrides no peers: give such a library a server of reactor-ws',
};

/** @param {Project} project */
function examineWs(project) {
  const { dependants, packages } = pnpDependantsOf(project.root) ?? dependantsOf(project);
  const served = dependants.filter(({ gets }) => gets !== null);
  const theirs = served.filter(({ gets }) => gets?.name !== 'reactor-ws');
  const some = theirs.length < served.length;
  /** @type {WsReport['ours']} */
  const ours = served.length === 0 ? 'unused' : theirs.length === 0 ? 'all' : some ? 'some' : 'none';
  /** @type {WsReport} */
  const value = { manager: project.manager, ours, dependants, overrides: project.declared };
  // npm puts `ws` in the place of an alias without an override, if a library asks for a version that both have.
  const wanted = some || dependants.some(({ asks }) => asks.includes('reactor-ws')) || project.declared.some((one) => one.ours);
  const { problems, notes } = wanted ? outOfReach(project, packages) : { problems: [], notes: [] };
  if (theirs.length === 0) return { value, problems, notes };
  const names = theirs.map(({ name, gets }) => `${name} (ws ${gets?.version})`).join(', ');
  const what = `${theirs.length} of ${served.length} that depend on ws have ws and not reactor-ws: ${names}`;
  if (wanted) return { value, problems: [finding(what, remedyFor(project)), ...problems], notes };
  return { value, problems, notes: [finding(what, `if reactor-ws is to serve them: ${OVERRIDE[project.manager]}`)] };
}

/** @type {(project: Project, packages: Set<string>) => { problems: Finding[], notes: Finding[] }} */
function outOfReach({ manager }, packages) {
  const copies = WITH_COPIES.filter((name) => packages.has(name)).map((name) =>
    finding(`${name} has a copy of ws in its own files, which no override reaches`, `give ${name} a server of reactor-ws where it takes one`),
  );
  const isBun = process.versions.bun !== undefined;
  if (!isBun && manager !== 'bun') return { problems: [], notes: copies };
  const own = finding(
    "Bun has a ws of its own, which every require('ws') gets there, whatever is installed",
    'run the program on Node, or give its libraries a server of reactor-ws where they take one',
  );
  return isBun ? { problems: [own], notes: copies } : { problems: [], notes: [own, ...copies] };
}

/** @type {(project: Project) => string} */
function remedyFor({ declared, manager }) {
  const own = declared.filter((one) => one.ours);
  if (own.some(({ readBy }) => readBy.includes(manager))) return `the override is there, but not what is installed: ${AGAIN[manager]}`;
  const unread = own.map(({ place }) => `${manager} does not read ${place}; `).join('');
  return unread + OVERRIDE[manager];
}

/** @type {(what: string, remedy: string) => Finding} */
function finding(what, remedy) {
  return { check: 'ws', what, remedy };
}

module.exports = { examineWs };

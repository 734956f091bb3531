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
const IN_RESOLUTIONS = `write "resolutions": { "ws": "${SPEC}" } into package.json, then run`;

/** What puts reactor-ws in the place of `ws`; docs/migrating-from-ws.md has the same. @type {Record<Project['manager'], string>} */
const OVERRIDE = {
  npm: `write "dependencies": { "ws": "${SPEC}" } and "overrides": { "ws": "$ws" } into package.json, then run: npm install`,
  pnpm: `write "overrides:" and below it "  ws: ${SPEC}" into pnpm-workspace.yaml, then run: pnpm install`,
  yarn: `${IN_RESOLUTIONS}: yarn install`,
  bun: `write "overrides": { "ws": "${SPEC}" } into package.json, then run: bun install`,
  deno: `write "dependencies": { "ws": "${SPEC}" } and "overrides": { "ws": "$ws" } into package.json, then run: deno install`,
};

/** A lock file keeps what was resolved before there was an override. @type {Record<Project['manager'], string>} */
const AGAIN = {
  npm: 'remove node_modules and package-lock.json, then run: npm install',
  pnpm: 'run: pnpm install --force',
  yarn: 'run: yarn install',
  bun: 'remove node_modules and bun.lock, then run: bun install',
  deno: 'remove node_modules and deno.lock, then run: deno install',
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
  const wanted = some || project.declared.some((one) => one.ours);
  const copies = wanted ? WITH_COPIES.filter((name) => packages.has(name)).map(copyIn) : [];
  if (theirs.length === 0) return { value, problems: [], notes: copies };
  const names = theirs.map(({ name, gets }) => `${name} (ws ${gets?.version})`).join(', ');
  const what = `${theirs.length} of ${served.length} that depend on ws have ws and not reactor-ws: ${names}`;
  if (wanted) return { value, problems: [finding(what, remedyFor(project))], notes: copies };
  return { value, problems: [], notes: [finding(what, `if reactor-ws is to serve them: ${OVERRIDE[project.manager]}`)] };
}

/** @type {(project: Project) => string} */
function remedyFor({ declared, manager }) {
  const own = declared.filter((one) => one.ours);
  if (own.some(({ readBy }) => readBy.includes(manager))) return `the override is not what is installed: ${AGAIN[manager]}`;
  const unread = own.map(({ place }) => `${manager} does not read ${place}; `).join('');
  return unread + OVERRIDE[manager];
}

/** @type {(name: string) => Finding} */
function copyIn(name) {
  return finding(`${name} has a copy of ws in its own files, which no override reaches`, `give ${name} a server of reactor-ws where it takes one`);
}

/** @type {(what: string, remedy: string) => Finding} */
function finding(what, remedy) {
  return { check: 'ws', what, remedy };
}

module.exports = { examineWs };

'use strict';

const { existsSync, readFileSync, readdirSync } = require('node:fs');
const { dirname, join } = require('node:path');

/**
 * The part of a package.json that counts here.
 *
 * @typedef {object} Manifest
 * @property {string} [name]
 * @property {string} [version]
 * @property {Record<string, string>} [dependencies]
 * @property {Record<string, string>} [devDependencies]
 * @property {Record<string, string>} [optionalDependencies]
 * @property {Record<string, string>} [peerDependencies]
 * @property {Record<string, unknown>} [overrides]
 * @property {Record<string, string>} [resolutions]
 * @property {{ overrides?: Record<string, string> }} [pnpm]
 */

/** @typedef {'npm' | 'pnpm' | 'yarn' | 'bun' | 'deno'} ManagerName */

/**
 * `folder`: that of the nearest package.json; `root`: that of the lock file, which has the overrides of a workspace.
 *
 * @typedef {{ folder: string, root: string, manager: ManagerName, declared: Declared[] }} Project
 */

/**
 * An override of `ws`: `place` names file and field, `ours` is whether it names this package, and `readBy` the package
 * managers that read it.
 *
 * @typedef {{ place: string, value: string, ours: boolean, readBy: ManagerName[] }} Declared
 */

/** @type {[file: string, manager: ManagerName][]} */
const LOCKS = [
  ['pnpm-lock.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['bun.lock', 'bun'],
  ['bun.lockb', 'bun'],
  ['deno.lock', 'deno'],
  ['package-lock.json', 'npm'],
];

/** From 11 on pnpm reads settings in pnpm-workspace.yaml only. */
const STRICT_PNPM = 11;

/** @type {(folder: string) => Project} */
function findProject(folder) {
  const above = ancestors(folder);
  const own = above.find((one) => existsSync(join(one, 'package.json'))) ?? folder;
  const locked = ancestors(own).find((one) => lockOf(one) !== undefined);
  const root = locked ?? own;
  const manager = lockOf(root) ?? 'npm';
  return { folder: own, root, manager, declared: [...new Set([root, own])].flatMap((one) => declaredIn(one, root)) };
}

/** @type {(folder: string) => ManagerName | undefined} */
function lockOf(folder) {
  return LOCKS.find(([file]) => existsSync(join(folder, file)))?.[1];
}

/** @type {(folder: string, root: string) => Declared[]} */
function declaredIn(folder, root) {
  const { dependencies, overrides, pnpm, resolutions } = readManifest(folder) ?? {};
  /** @type {ManagerName[]} */
  const pnpmReads = pnpmVersion(root) < STRICT_PNPM ? ['pnpm'] : [];
  /** @type {[file: string, field: string, value: unknown, readBy: ManagerName[]][]} */
  const all = [
    // Deno takes `$ws` for no override at all.
    ['package.json', 'overrides', overrides?.ws, ['npm', 'bun', ...(/** @type {ManagerName[]} */ (overrides?.ws === '$ws' ? [] : ['deno']))]],
    ['package.json', 'resolutions', resolutions?.ws ?? resolutions?.['**/ws'], ['yarn', 'bun', ...pnpmReads]],
    ['package.json', 'pnpm.overrides', pnpm?.overrides?.ws, pnpmReads],
    ['pnpm-workspace.yaml', 'overrides', workspaceOverride(folder), ['pnpm']],
  ];
  return all.flatMap(([file, field, value, readBy]) => {
    if (value === undefined) return [];
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    // `$ws` stands for the direct dependency.
    const meant = text.startsWith('$') ? (dependencies?.[text.slice(1)] ?? '') : text;
    return [{ place: `${field} in ${join(folder, file)}`, value: text, ours: meant.includes('reactor-ws'), readBy }];
  });
}

/** The version of pnpm that has installed, or Infinity. @type {(root: string) => number} */
function pnpmVersion(root) {
  // JSON in some versions, YAML in others.
  const version = /pnpm@(\d+)/.exec(readText(join(root, 'node_modules/.modules.yaml')) ?? '')?.[1];
  return version === undefined ? Infinity : Number(version);
}

/** `ws` of the mapping `overrides` in pnpm-workspace.yaml. @type {(folder: string) => string | undefined} */
function workspaceOverride(folder) {
  const text = readText(join(folder, 'pnpm-workspace.yaml')) ?? '';
  const [, block = ''] = /^overrides:[ \t]*(?:#.*)?\r?\n((?:[ \t]+\S.*(?:\r?\n|$)|[ \t]*(?:#.*)?\r?\n)*)/m.exec(text) ?? [];
  return /^[ \t]+(['"]?)ws\1:[ \t]*(['"]?)(.*?)\2[ \t]*(?:#.*)?$/m.exec(block)?.[3];
}

/** It, and the folders above it. @type {(folder: string) => string[]} */
function ancestors(folder) {
  const above = dirname(folder);
  return above === folder ? [folder] : [folder, ...ancestors(above)];
}

/** Names of the packages in a node_modules, `@scope/name` included. @type {(folder: string) => string[]} */
function listPackages(folder) {
  const names = list(folder).filter((name) => !name.startsWith('.'));
  return names.flatMap((name) => (name.startsWith('@') ? list(join(folder, name)).map((one) => `${name}/${one}`) : [name]));
}

/** @type {(folder: string) => string[]} */
function list(folder) {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Null where there is none that can be read. @type {(folder: string) => Manifest | null} */
function readManifest(folder) {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  } catch {
    return null;
  }
}

/** @type {(file: string) => string | null} */
function readText(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

module.exports = { ancestors, findProject, listPackages, readManifest };

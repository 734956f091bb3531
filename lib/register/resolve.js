'use strict';

// Who gets this package for `ws`. A thread of its own imports this file on Node without `registerHooks`.

const { readFileSync } = require('node:fs');
const { basename, dirname, join } = require('node:path');
const { fileURLToPath, pathToFileURL } = require('node:url');

const { warn } = require('../base/log');
const { isBelow8 } = require('../base/ws-range');

const FOR_IMPORT = pathToFileURL(join(__dirname, '../index.mjs')).href;
const FOR_REQUIRE = require.resolve('../index');

/** The hook for modules. Node can ask it for a `require` as well, which goes on to `Module._resolveFilename`. @type {import('node:module').ResolveHookSync} */
function resolve(specifier, context, next) {
  const { conditions = [], parentURL } = context;
  const isOurs = specifier === 'ws' && [...conditions].includes('import') && takes(parentURL?.startsWith('file:') ? fileURLToPath(parentURL) : null);
  return next(isOurs ? FOR_IMPORT : specifier, context);
}

/** Whether `ws` is this package for a file; null: for a module of no file. @type {(file: string | null) => boolean} */
function takes(file) {
  const { name, asks } = file === null ? {} : packageOf(file);
  if (asks === undefined || !isBelow8(asks)) return true;
  warn('REACTOR_WS_REGISTER', `${name} asks for ws ${asks}, and keeps it`);
  return false;
}

/**
 * The nearest package.json that says which `ws` it needs: a folder of a package can have one with its type only, and a
 * package of a workspace can leave it to the root.
 *
 * @type {(file: string) => { name?: string, asks?: string }}
 */
function packageOf(file) {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const { dependencies, devDependencies, name = folder, optionalDependencies, peerDependencies } = manifestOf(folder);
    const asks = { ...devDependencies, ...peerDependencies, ...optionalDependencies, ...dependencies }.ws;
    if (asks !== undefined) return { name, asks };
    const above = dirname(folder);
    if (above === folder || basename(above.replace(/[\\/]@[^\\/]+$/, '')) === 'node_modules') return {};
  }
}

/** @typedef {Record<string, string>} Ranges */

/** @type {(folder: string) => { name?: string, dependencies?: Ranges, devDependencies?: Ranges, optionalDependencies?: Ranges, peerDependencies?: Ranges }} */
function manifestOf(folder) {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  } catch {
    return {};
  }
}

module.exports = { FOR_REQUIRE, resolve, takes };

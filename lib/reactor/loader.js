'use strict';

const { closeSync, openSync, readSync } = require('node:fs');
const { createRequire } = require('node:module');
const { join } = require('node:path');

const { VERSION } = require('../base/layout');

/**
 * Bundlers leave this `require` alone. In a bundle it looks from there, or, if that is a module, from the program.
 */
const here = createRequire(
  typeof __filename === 'string' ? __filename : (process.argv[1] ?? join(process.cwd(), 'index.js')),
);

/**
 * The packages of the addon, written out for tools that collect the files of a program.
 *
 * @type {Record<string, () => unknown>}
 */
const PACKAGES = {
  'darwin-arm64': () => here('reactor-ws-darwin-arm64'),
  'darwin-x64': () => here('reactor-ws-darwin-x64'),
  'linux-arm64-gnu': () => here('reactor-ws-linux-arm64-gnu'),
  'linux-arm64-musl': () => here('reactor-ws-linux-arm64-musl'),
  'linux-x64-gnu': () => here('reactor-ws-linux-x64-gnu'),
  'linux-x64-musl': () => here('reactor-ws-linux-x64-musl'),
  'win32-arm64-msvc': () => here('reactor-ws-win32-arm64-msvc'),
  'win32-x64-msvc': () => here('reactor-ws-win32-x64-msvc'),
};

/** The first bytes of an ELF file, where linkers write the name of its interpreter. */
const ELF_START = 4096;

/**
 * Loads the addon from `NAPI_RS_NATIVE_LIBRARY_PATH`; without that from a build in lib/native, from the package for
 * this system, and, in a bundle, from the place of the package `reactor-ws`.
 *
 * @type {() => typeof import('../native/binding')}
 * @throws {AggregateError} With the error of each place
 */
function load() {
  const { NAPI_RS_NATIVE_LIBRARY_PATH: given } = process.env;
  if (given) return firstOf([() => here(given)]);
  const system = systemName();
  return firstOf([
    () => here(`../native/reactor-ws.${system}.node`),
    ...(Object.hasOwn(PACKAGES, system) ? [PACKAGES[system]] : []),
    () => createRequire(here.resolve('reactor-ws/package.json'))(`reactor-ws-${system}`),
  ]);
}

/**
 * The first addon that loads and has the version of this package.
 *
 * @type {(ways: (() => unknown)[]) => typeof import('../native/binding')}
 * @throws {AggregateError} With all their errors, if all have thrown
 */
function firstOf(ways) {
  const errors = [];
  for (const way of ways) {
    try {
      return sameVersion(/** @type {typeof import('../native/binding')} */ (way()));
    } catch (error) {
      errors.push(error);
    }
  }
  throw new AggregateError(errors, 'no addon could be loaded');
}

/**
 * @template {{ version?: () => string }} T
 * @param {T} addon The exports of a module that was loaded
 * @returns {T} The same
 * @throws {Error} ERR_REACTOR_WS_VERSION, if it is of another version than this package
 */
function sameVersion(addon) {
  const its = typeof addon.version === 'function' ? addon.version() : 'unknown';
  if (its === VERSION) return addon;
  const message = `its version is ${its}, and that of reactor-ws is ${VERSION}`;
  throw Object.assign(new Error(message), { code: 'ERR_REACTOR_WS_VERSION' });
}

/** @returns {string} The name of the package for this system, without `reactor-ws-` */
function systemName() {
  const { arch, platform } = process;
  if (platform === 'linux') return `linux-${arch}-${isMusl() ? 'musl' : 'gnu'}`;
  return platform === 'win32' ? `win32-${arch}-msvc` : `${platform}-${arch}`;
}

function isMusl() {
  const interpreter = interpreterOf(process.execPath);
  // A report takes milliseconds, so it is made only if the first bytes of the program are no help.
  return interpreter === null ? glibcVersion() === null : interpreter === 'musl';
}

/**
 * The kind of the interpreter of an ELF file: /lib64/ld-linux-x86-64.so.2, /lib/ld-musl-x86_64.so.1. Null if it is
 * not at the start of the file, or the file cannot be read.
 *
 * @type {(program: string) => 'linux' | 'musl' | null}
 */
function interpreterOf(program) {
  try {
    const start = Buffer.alloc(ELF_START);
    const file = openSync(program, 'r');
    readSync(file, start, 0, start.length, 0);
    closeSync(file);
    return /** @type {'linux' | 'musl' | null} */ (/\/ld-(linux|musl)-/.exec(start.toString('latin1'))?.[1] ?? null);
  } catch {
    return null;
  }
}

/**
 * @typedef {object} Report
 * @property {boolean} [excludeNetwork] Leaves the sockets out
 * @property {() => { header: { glibcVersionRuntime?: string } }} getReport Makes a report
 */

/** @returns {string | null} The version of glibc that this process uses; null: it uses none */
function glibcVersion() {
  const report = /** @type {Report} */ (/** @type {unknown} */ (process.report));
  // A report with sockets looks host names up, which can take long.
  const { excludeNetwork } = report;
  report.excludeNetwork = true;
  const { header } = report.getReport();
  report.excludeNetwork = excludeNetwork;
  return header.glibcVersionRuntime ?? null;
}

module.exports = { glibcVersion, load, systemName };

'use strict';

const { closeSync, openSync, readSync } = require('node:fs');
const { createRequire } = require('node:module');
const { join } = require('node:path');

const { root } = require('../base/async-context');
const { VERSION } = require('../base/layout');

/** @typedef {typeof import('../native/binding')} Addon */

/** Bundlers leave this `require` alone. In a bundle it looks from there, or, if that is a module, from the program. */
const here = createRequire(
  typeof __filename === 'string' ? __filename : (process.argv[1] ?? join(process.cwd(), 'index.js')),
);

/** Written out for tools that collect the files of a program. @type {Record<string, () => unknown>} */
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

const DISABLED = /loading addons is disabled/;

const BUILD = 'in a clone of the repository run: npm ci && npm run build';

/** @type {Addon | undefined} */
let loaded;

/**
 * The native addon; loaded on first use.
 *
 * @type {() => Addon}
 * @throws {Error} ERR_REACTOR_WS_NATIVE, with the cause, and the remedy
 */
function addon() {
  try {
    // Outside of the async context of the first caller: the objects that the addon makes when it is
    // loaded live as long as the process.
    loaded ??= root.runInAsyncScope(load);
    return loaded;
  } catch (error) {
    throw explained(/** @type {AggregateError} */ (error));
  }
}

/**
 * From `NAPI_RS_NATIVE_LIBRARY_PATH`; without that from a build in lib/native, from the package for this system, and, in
 * a bundle, from the place of the package `reactor-ws`.
 *
 * @type {() => Addon}
 * @throws {AggregateError} With the error of each place
 */
function load() {
  const { NAPI_RS_NATIVE_LIBRARY_PATH: given } = process.env;
  const system = systemName();
  const places = [
    () => here(`../native/reactor-ws.${system}.node`),
    ...(Object.hasOwn(PACKAGES, system) ? [PACKAGES[system]] : []),
    () => createRequire(here.resolve('reactor-ws/package.json'))(`reactor-ws-${system}`),
  ];
  const errors = [];
  for (const place of given ? [() => here(given)] : places) {
    try {
      const found = /** @type {Addon} */ (place());
      checkVersion(found);
      return found;
    } catch (error) {
      errors.push(error);
    }
  }
  throw new AggregateError(errors, 'no addon could be loaded');
}

/** @type {(addon: { version?: () => string }) => void} @throws {Error} ERR_REACTOR_WS_VERSION, unless it has that of this package */
function checkVersion(addon) {
  const its = typeof addon.version === 'function' ? addon.version() : 'unknown';
  if (its === VERSION) return;
  const message = `its version is ${its}, and that of reactor-ws is ${VERSION}`;
  throw Object.assign(new Error(message), { code: 'ERR_REACTOR_WS_VERSION' });
}

/** The name of the package for this system, without `reactor-ws-`. */
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
 * Of an ELF file: /lib64/ld-linux-x86-64.so.2, /lib/ld-musl-x86_64.so.1. Null if it is not at the start of the file, or
 * the file cannot be read.
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

/** @typedef {{ excludeNetwork?: boolean, getReport(): { header: { glibcVersionRuntime?: string } } }} Report */

/** Null where this process uses none. */
function glibcVersion() {
  const report = /** @type {Report} */ (/** @type {unknown} */ (process.report));
  // A report with sockets looks host names up, which can take long.
  const { excludeNetwork } = report;
  report.excludeNetwork = true;
  const { header } = report.getReport();
  report.excludeNetwork = excludeNetwork;
  return header.glibcVersionRuntime ?? null;
}

/**
 * @typedef {object} Manifest What pack.mjs adds to package.json
 * @property {Record<string, string>} [optionalDependencies] The packages with addons
 * @property {boolean} [released] Whether they are published
 * @property {string} version
 */

/** The error that is thrown in place of that of `load`. @type {(error: AggregateError) => Error & { code: string }} */
function explained(error) {
  const { NAPI_RS_NATIVE_LIBRARY_PATH: given } = process.env;
  const failures = error.errors.filter((reason) => given || reason.code !== 'MODULE_NOT_FOUND');
  const name = `reactor-ws-${systemName()}`;
  const { optionalDependencies = {}, released = false, version } = /** @type {Manifest} */ (require('../../package.json'));
  const packed = Object.hasOwn(optionalDependencies, name);
  const lookedFor = packed ? `the package ${name}, and a build in lib/native` : 'a build in lib/native';
  const [why, advice] = diagnosis(failures, packed ? name : null, packed && released ? version : null);
  const lines = [
    `reactor-ws: the native addon could not be loaded: ${why}`,
    `  system: ${process.platform} ${process.arch}${libc()}, Node ${process.versions.node}`,
    `  looked for: ${given || lookedFor}`,
    `  what to do: ${advice}`,
  ];
  const short = Object.assign(new Error(lines.join('\n')), { code: 'ERR_REACTOR_WS_NATIVE' });
  // The causes are for programs. Printed they take sixty lines; Node does not print a getter.
  Object.defineProperty(short, 'cause', { configurable: true, get: () => error });
  return short;
}

/**
 * The remedy, by the errors of addons that exist, the name of the package for this system, if there is one, and the
 * version that a registry has of it; with null `npm install` would be of no help.
 *
 * @type {(failures: (Error & { code?: string })[], name: string | null, released: string | null) => [why: string, advice: string]}
 */
function diagnosis(failures, name, released) {
  // An error of the system, whose text may be long.
  const reasons = [...new Set(failures.map(({ message }) => message.split('\n', 1)[0]))];
  if (reasons.some((reason) => DISABLED.test(reason))) {
    return ['this process may load no addons', 'start Node without --no-addons, and --permission with --allow-addons'];
  }
  if (failures.some(({ code }) => code === 'ERR_REACTOR_WS_VERSION')) {
    const again = `npm install reactor-ws@${released}, also where a bundle looks for it`;
    return [reasons.join('; '), released === null ? BUILD : `${again}; ${BUILD}`];
  }
  if (reasons.length !== 0) return [reasons.join('; '), `install on the system it runs on, or ${BUILD}`];
  if (name === null) return ['it has not been built', BUILD];
  const install = 'install without --omit=optional, and without node_modules or a lock file of another system';
  const remedy = released === null ? `; or ${BUILD}` : `: npm install ${name}@${released}; a bundle needs reactor-ws in a node_modules`;
  return ['its package is not installed', install + remedy];
}

/** The C library of a Linux system and its version, if Node reports it. */
function libc() {
  if (process.platform !== 'linux') return '';
  const version = glibcVersion();
  return version === null ? ' musl' : ` glibc ${version}`;
}

module.exports = { addon, systemName };

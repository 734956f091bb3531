'use strict';

const { closeSync, openSync, readSync } = require('node:fs');
const { createRequire } = require('node:module');
const { join } = require('node:path');

const { root } = require('../base/async-context');
const { VERSION } = require('../base/layout');

/** @typedef {typeof import('../native/binding')} Addon */

/** Bundlers leave this `require` alone: it resolves from the bundle or, if that is a module, from the program. */
const here = createRequire(
  typeof __filename === 'string' ? __filename : (process.argv[1] ?? join(process.cwd(), 'index.js')),
);

/** Spelled out for tools that collect the files of a program. @type {Record<string, () => any>} */
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

/** Bytes at the start of an ELF file in which linkers place the name of its interpreter. */
const ELF_START = 4096;

const DISABLED = /loading addons is disabled/;

const BUILD = 'in a clone of the repository run: npm ci && npm run build';

/** @type {Addon | undefined} */
let loaded;

/** The addon, loaded on first use. @type {() => Addon} @throws {Error} ERR_REACTOR_WS_NATIVE, with cause and remedy */
function addon() {
  try {
    // Outside of the first caller's async context: the addon's own objects live as long as the process.
    loaded ??= root.runInAsyncScope(load);
    return loaded;
  } catch (error) {
    throw explained(/** @type {AggregateError} */ (error));
  }
}

/**
 * From `NAPI_RS_NATIVE_LIBRARY_PATH`, or else a build in lib/native, the package for this system or, in a bundle, that
 * package as `reactor-ws` finds it.
 *
 * @type {() => Addon}
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
      const found = place();
      const version = typeof found.version === 'function' ? found.version() : 'unknown';
      if (version === VERSION) return found;
      const message = `its version is ${version}, and that of reactor-ws is ${VERSION}`;
      throw Object.assign(new Error(message), { code: 'ERR_REACTOR_WS_VERSION' });
    } catch (error) {
      errors.push(error);
    }
  }
  throw new AggregateError(errors, 'no addon could be loaded');
}

/** Without `reactor-ws-`. */
function systemName() {
  const { arch, platform } = process;
  if (platform === 'linux') {
    // A report takes milliseconds, so it is the second choice.
    const interpreter = interpreterOf(process.execPath) ?? (glibcVersion() === null ? 'musl' : 'linux');
    return `linux-${arch}-${interpreter === 'musl' ? 'musl' : 'gnu'}`;
  }
  return platform === 'win32' ? `win32-${arch}-msvc` : `${platform}-${arch}`;
}

/**
 * From an ELF file, such as /lib64/ld-linux-x86-64.so.2 or /lib/ld-musl-x86_64.so.1; null if it is not at the start, or
 * the file cannot be read.
 *
 * @type {(program: string) => string | null}
 */
function interpreterOf(program) {
  try {
    const start = Buffer.alloc(ELF_START);
    const file = openSync(program, 'r');
    readSync(file, start, 0, start.length, 0);
    closeSync(file);
    return /\/ld-(linux|musl)-/.exec(start.toString('latin1'))?.[1] ?? null;
  } catch {
    return null;
  }
}

/** Null where this process uses none. @returns {string | null} */
function glibcVersion() {
  /** @type {any} */
  const { report } = process;
  // A report with sockets looks up host names, which can take long.
  const { excludeNetwork } = report;
  report.excludeNetwork = true;
  const { header } = report.getReport();
  report.excludeNetwork = excludeNetwork;
  return header.glibcVersionRuntime ?? null;
}

/**
 * What pack.mjs adds to package.json: packages with addons, and whether they are published.
 *
 * @typedef {{ optionalDependencies?: Record<string, string>, released?: boolean, version: string }} Manifest
 */

/** Thrown in place of the error of `load`. @type {(error: AggregateError) => Error & { code: string }} */
function explained(error) {
  const { NAPI_RS_NATIVE_LIBRARY_PATH: given } = process.env;
  const failures = error.errors.filter((reason) => given || reason.code !== 'MODULE_NOT_FOUND');
  const name = `reactor-ws-${systemName()}`;
  /** @type {Manifest} */
  const { optionalDependencies = {}, released = false, version } = require('../../package.json');
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
  // The causes are for programs: printed, they take sixty lines. Node does not print a getter.
  Object.defineProperty(short, 'cause', { configurable: true, get: () => error });
  return short;
}

/**
 * `failures`: errors of existing addons; `name`: the package for this system, if there is one; `released`: its version
 * in a registry (null: `npm install` would not help).
 *
 * @type {(failures: (Error & { code?: string })[], name: string | null, released: string | null) => [why: string, advice: string]}
 */
function diagnosis(failures, name, released) {
  // A system error can have a long text.
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
  const remedy = released === null ? `; or ${BUILD}` : `: npm install ${name}@${released}; a bundle needs reactor-ws in a node_modules, and a program of one file the path of the addon in NAPI_RS_NATIVE_LIBRARY_PATH`;
  return ['its package is not installed', install + remedy];
}

/** On Linux, ' musl' or ' glibc 2.36'. */
function libc() {
  if (process.platform !== 'linux') return '';
  const version = glibcVersion();
  return version === null ? ' musl' : ` glibc ${version}`;
}

module.exports = { addon, libc, systemName };

'use strict';

const { root } = require('../base/async-context');
const { glibcVersion, load, systemName } = require('./loader');

const DISABLED = /loading addons is disabled/;

const BUILD = 'in a clone of the repository run: npm ci && npm run build';

/** @type {typeof import('../native/binding') | undefined} */
let loaded;

/**
 * The native addon; loaded on first use.
 *
 * @type {() => typeof import('../native/binding')}
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
 * @typedef {object} Manifest What pack.mjs adds to package.json
 * @property {Record<string, string>} [optionalDependencies] The packages with addons
 * @property {boolean} [released] Whether they are published
 * @property {string} version
 */

/** The error that is thrown in place of the loader's. @type {(error: AggregateError) => Error & { code: string }} */
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
  const reasons = [...new Set(failures.map(firstLine))];
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

/** @param {Error} error An error of the system, whose text may be long */
function firstLine(error) {
  return error.message.split('\n', 1)[0];
}

/** @returns {string} The C library of a Linux system and its version, if Node reports it */
function libc() {
  if (process.platform !== 'linux') return '';
  const version = glibcVersion();
  return version === null ? ' musl' : ` glibc ${version}`;
}

module.exports = { addon };

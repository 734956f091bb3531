'use strict';

const { inspect } = require('node:util');

const { root } = require('../async-context');

/** The generated loader also looks for builds for WebAssembly, of which there are none. */
const WEBASSEMBLY = /wasi/;

const MISSING_PACKAGE = /^Cannot find module '(reactor-ws-[^']+)'/;
const MISSING = /^Cannot find module /;
const DISABLED = /loading addons is disabled/;

const BUILD = 'in a clone of the repository run: npm ci && npm run build';

/**
 * The native addon; loaded on first use.
 *
 * @returns {typeof import('../native/binding')} What it exports
 * @throws {Error} ERR_REACTOR_WS_NATIVE, with why there is none, and what to do
 */
function addon() {
  try {
    // Outside of the async context of the first caller: what the addon makes when it is loaded
    // lives as long as the process.
    return root.runInAsyncScope(() => require('../native/binding.js'));
  } catch (error) {
    throw explained(/** @type {Error} */ (error));
  }
}

/**
 * The error for one of the generated loader, which has the same sentence for all failures, and the
 * reasons in a chain of causes.
 *
 * @param {Error} error What the loader has thrown
 * @returns {Error & { code: string }} What `addon` throws instead
 */
function explained(error) {
  const reasons = reasonsOf(error).filter((reason) => !WEBASSEMBLY.test(reason));
  const { NAPI_RS_NATIVE_LIBRARY_PATH: given } = process.env;
  const failures = given ? reasons : reasons.filter((reason) => !MISSING.test(reason));
  const name = reasons.map((reason) => MISSING_PACKAGE.exec(reason)?.[1]).find(Boolean);
  const lookedFor = name ? `the package ${name}, and a build in lib/native` : 'a build in lib/native';
  const [why, advice] = diagnosis(failures, name);
  const lines = [
    `reactor-ws: the native addon could not be loaded: ${why}`,
    `  system: ${process.platform} ${process.arch}${libc()}, Node ${process.versions.node}`,
    `  looked for: ${given || lookedFor}`,
    `  what to do: ${advice}`,
  ];
  const short = new Error(lines.join('\n'), { cause: error });
  // The causes are there for programs; printed, they are sixty lines.
  Object.defineProperty(short, inspect.custom, { value: () => short.stack });
  return Object.assign(short, { code: 'ERR_REACTOR_WS_NATIVE' });
}

/**
 * @param {string[]} failures What the system says of addons that are there
 * @param {string | undefined} name Of the package for this system; undefined: there is none, or no
 *   loader
 * @returns {[why: string, advice: string]} For the error
 */
function diagnosis(failures, name) {
  if (failures.some((reason) => DISABLED.test(reason))) {
    return ['this process may load no addons', 'start Node without --no-addons, and --permission with --allow-addons'];
  }
  if (failures.length !== 0) return [failures.join('; '), `install on the system it runs on, or ${BUILD}`];
  const { optionalDependencies = {} } = /** @type {any} */ (require('../../package.json'));
  if (name === undefined || !Object.hasOwn(optionalDependencies, name)) return ['it has not been built', BUILD];
  return [
    'its package is not installed',
    `install without --omit=optional, and without node_modules or a lock file of another system: npm install ${name}; ` +
      'a bundle must leave reactor-ws external',
  ];
}

/**
 * @param {any} error What the loader has thrown
 * @returns {string[]} It and what has led to it, without the loader's own sentence: the first line
 *   of each message
 */
function reasonsOf(error) {
  const found = [];
  for (let cause = error.cause ?? error; cause instanceof Error; cause = cause.cause) {
    found.push(cause.message.split('\n', 1)[0]);
  }
  return found;
}

/** @returns {string} The C library of a Linux system and its version, where Node says it */
function libc() {
  if (process.platform !== 'linux') return '';
  const { header } = /** @type {any} */ (process.report?.getReport() ?? {});
  return header?.glibcVersionRuntime ? ` glibc ${header.glibcVersionRuntime}` : ' musl';
}

module.exports = { addon };

'use strict';

const { root } = require('../async-context');

/** The generated loader also looks for builds for WebAssembly, of which there are none. */
const WEBASSEMBLY = /wasi/;

const MISSING_PACKAGE = /^Cannot find module '(reactor-ws-[^']+)'/;
const MISSING = /^Cannot find module /;
const DISABLED = /loading addons is disabled/;

/**
 * The native addon; loaded on first use.
 *
 * @returns {typeof import('../native/binding')} What it exports
 * @throws {Error} With why there is none, and what to do
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
  const reasons = causesOf(error).filter((reason) => !WEBASSEMBLY.test(reason));
  const failures = reasons.filter((reason) => !MISSING.test(reason));
  const name = reasons.map((reason) => MISSING_PACKAGE.exec(reason)?.[1]).find(Boolean);
  if (reasons.some((reason) => DISABLED.test(reason))) {
    return failed('ERR_DLOPEN_DISABLED', error, [
      'it is a native addon, and this process may load none:',
      'start Node without --no-addons, and where --permission is given with --allow-addons too',
    ]);
  }
  if (failures.length === 0 && name !== undefined) {
    return failed('MODULE_NOT_FOUND', error, [
      `the native addon for this system is in the package ${name}, which is not installed.`,
      'npm leaves it out with --omit=optional, and where node_modules or package-lock.json come from another system:',
      `install there without them, or run npm install ${name}.`,
      'A clone gets its addon by npm run build; a bundle must leave reactor-ws external',
    ]);
  }
  const shown = failures.length === 0 ? reasons : failures;
  return failed('ERR_DLOPEN_FAILED', error, ['its native addon could not be loaded:', shown.join('; ') || error.message]);
}

/**
 * @param {unknown} error What the loader has thrown
 * @returns {string[]} What has led to it: the first line of each message
 */
function causesOf(error) {
  const found = [];
  let cause = /** @type {any} */ (error).cause;
  while (cause instanceof Error) {
    found.push(cause.message.split('\n', 1)[0]);
    cause = cause.cause;
  }
  return found;
}

/**
 * @param {string} code Node's code for the same reason
 * @param {Error} cause What the loader has thrown
 * @param {string[]} words The sentence, in pieces
 * @returns {Error & { code: string }} An error with that code
 */
function failed(code, cause, words) {
  return Object.assign(new Error(`reactor-ws: ${words.join(' ')}`, { cause }), { code });
}

module.exports = { addon };

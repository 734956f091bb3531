'use strict';

const { inspect } = require('node:util');

const { addon } = require('../reactor/addon');

const COMPRESSORS = ['dedicated', 'shared'];

/**
 * The options of memory, which are not checked yet.
 *
 * @typedef {object} MemoryOptions
 * @property {unknown} [budget] Bytes that the contexts of the process may take in each direction
 * @property {string} [compressor] One of COMPRESSORS
 * @property {unknown} [serverNoContextTakeover] False: contradicts `compressor: 'shared'`
 * @property {unknown} [clientNoContextTakeover] The same
 */

/**
 * The `perMessageDeflate` of a server or a client in the terms of ws: the settings that
 * `compressor` stands for are negotiated. Sets the budget of the process, if there is one.
 *
 * @template T
 * @param {T} options The value of the option, of any type and not checked yet; a false one turns
 *   compression off
 * @returns {T} The same; for `compressor: 'shared'` a copy that takes over no context
 * @throws {RangeError | TypeError} For a wrong `compressor` or `budget`
 */
function applyMemoryOptions(options) {
  if (!options) return options;
  const { budget, compressor = 'dedicated' } = /** @type {MemoryOptions} */ (options);
  if (!COMPRESSORS.includes(compressor)) {
    throw new TypeError(
      `options.perMessageDeflate.compressor must be 'dedicated' or 'shared'. Received ${inspect(compressor)}`,
    );
  }
  if (budget !== undefined && budget !== null) setBudget(budget);
  if (compressor === 'dedicated') return options;
  if (
    /** @type {MemoryOptions} */ (options).serverNoContextTakeover === false ||
    /** @type {MemoryOptions} */ (options).clientNoContextTakeover === false
  ) {
    throw new TypeError("options.perMessageDeflate: a context that is taken over needs compressor: 'dedicated'");
  }
  return { ...options, serverNoContextTakeover: true, clientNoContextTakeover: true };
}

/** @type {(bytes: unknown) => void} */
function setBudget(bytes) {
  const name = 'options.perMessageDeflate.budget';
  if (typeof bytes !== 'number') throw new TypeError(`${name} must be a number. Received ${inspect(bytes)}`);
  if (!Number.isSafeInteger(bytes) || bytes < 0) {
    throw new RangeError(`${name} must be a number of bytes, 0 or more. Received ${inspect(bytes)}`);
  }
  addon().setDeflateBudget(bytes);
}

/** Whether clients are to be asked not to refer to earlier messages. */
function isBudgetFull() {
  return addon().deflateBudgetIsFull();
}

module.exports = { applyMemoryOptions, isBudgetFull };

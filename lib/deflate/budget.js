'use strict';

const { inspect } = require('node:util');

const { addon } = require('../reactor/addon');

const COMPRESSORS = ['dedicated', 'shared'];

/**
 * Not checked yet.
 *
 * @typedef {object} MemoryOptions
 * @property {unknown} [budget] Bytes for the contexts of the process in each direction
 * @property {string} [compressor] One of COMPRESSORS
 * @property {unknown} [serverNoContextTakeover] False: contradicts `compressor: 'shared'`
 * @property {unknown} [clientNoContextTakeover] The same
 */

/**
 * Translates `compressor` to options of ws, and sets the budget of the process.
 *
 * @template T
 * @param {T} options `perMessageDeflate`, of any type and not checked yet
 * @returns {T} The same; a copy for `compressor: 'shared'`, which takes over no context
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

/** If it is full, clients are asked not to refer to earlier messages. */
function isBudgetFull() {
  return addon().deflateBudgetIsFull();
}

module.exports = { applyMemoryOptions, isBudgetFull };

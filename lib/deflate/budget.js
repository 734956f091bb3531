'use strict';

const { checkValue } = require('../base/checks');
const { addon } = require('../reactor/addon');

/** @typedef {import('../base/checks').Range} Range */

const COMPRESSOR = /** @type {Range} */ ({ type: 'string', values: ['dedicated', 'shared'] });
const BYTES = /** @type {Range} */ ({ type: 'number', least: 0, most: Number.MAX_SAFE_INTEGER });

/**
 * Not checked yet.
 *
 * @typedef {object} MemoryOptions
 * @property {unknown} [budget] Bytes for the contexts of the process in each direction
 * @property {string} [compressor] One of COMPRESSOR
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
  checkValue(COMPRESSOR, compressor, 'options.perMessageDeflate.compressor');
  if (budget !== undefined && budget !== null) {
    addon().setDeflateBudget(/** @type {number} */ (checkValue(BYTES, budget, 'options.perMessageDeflate.budget')));
  }
  if (compressor === 'dedicated') return options;
  if (
    /** @type {MemoryOptions} */ (options).serverNoContextTakeover === false ||
    /** @type {MemoryOptions} */ (options).clientNoContextTakeover === false
  ) {
    throw new TypeError("options.perMessageDeflate: a context that is taken over needs compressor: 'dedicated'");
  }
  return { ...options, serverNoContextTakeover: true, clientNoContextTakeover: true };
}

/** If it is full, clients are asked not to refer to earlier messages. */
function isBudgetFull() {
  return addon().deflateBudgetIsFull();
}

module.exports = { applyMemoryOptions, isBudgetFull };

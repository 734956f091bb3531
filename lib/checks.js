'use strict';

const { inspect } = require('node:util');

/**
 * What an option of this package may be; for numbers the least and the most, for a string all
 * values.
 *
 * @typedef {{ type: 'number' | 'boolean' | 'string' | 'function', least?: number, most?: number,
 *   values?: string[] }} Range
 */

/**
 * @param {Range} range What the value may be
 * @param {unknown} value What was given
 * @param {string} label What errors call it
 * @returns {unknown} The value
 * @throws {TypeError | RangeError}
 */
function checkValue({ type, least = 0, most = 0, values }, value, label) {
  if (values !== undefined) {
    if (values.includes(/** @type {string} */ (value))) return value;
    throw wrongType(label, values.map((one) => `'${one}'`).join(' or '), value);
  }
  if (typeof value !== type) throw wrongType(label, `a ${type}`, value);
  if (type === 'number' && !isIntegerFrom(least, most, /** @type {number} */ (value))) {
    throw new RangeError(`${label} must be an integer from ${least} to ${most}. Received ${inspect(value)}`);
  }
  return value;
}

/**
 * @param {number} least The least that it may be
 * @param {number} most The most that it may be
 * @param {number} value A number
 * @returns {boolean} Whether it is an integer between them
 */
function isIntegerFrom(least, most, value) {
  return Number.isInteger(value) && value >= least && value <= most;
}

/**
 * @param {string} label What errors call it
 * @param {string} wanted What is wanted, with an article
 * @param {unknown} value What was given
 */
function wrongType(label, wanted, value) {
  return new TypeError(`${label} must be ${wanted}. Received ${inspect(value)}`);
}

module.exports = { checkValue, wrongType };

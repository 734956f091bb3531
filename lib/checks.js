'use strict';

const { inspect } = require('node:util');

/** Milliseconds: the longest delay a timer takes. Also the most microseconds of `spin`. */
const LONGEST_DELAY = 2 ** 31 - 1;

/** The largest limit of ws. */
const MOST = 2 ** 31 - 1;

/**
 * The values that an option of this package takes; for numbers the least and the most, for a string
 * all values.
 *
 * @typedef {{ type: 'number' | 'boolean' | 'string' | 'function', least?: number, most?: number,
 *   values?: string[] }} Range
 */

/**
 * @param {Range} range The values allowed
 * @param {unknown} value The value to check
 * @param {string} label The name of the value in errors
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
 * @param {string} label The name of the value in errors
 * @param {string} wanted The type wanted, with an article
 * @param {unknown} value The value to check
 */
function wrongType(label, wanted, value) {
  return new TypeError(`${label} must be ${wanted}. Received ${inspect(value)}`);
}

/**
 * A limit as ws takes it: an integer of 32 bits, where 0 and less is no limit. More than MOST is no
 * limit either: ws would take 1e10, which programs use for "as much as there is", for 1410065408.
 *
 * @param {number | undefined} value The value of an option, of any type in fact: converted as in ws
 * @returns {number} 0 is no limit
 */
function limit(value = 0) {
  return value > MOST ? 0 : Math.max(value | 0, 0);
}

/**
 * A delay as `setTimeout` takes it.
 *
 * @param {unknown} value The value of an option: milliseconds
 * @returns {number} Milliseconds, at least 1
 */
function delay(value) {
  const number = Number(value);
  return number >= 1 && number <= LONGEST_DELAY ? Math.trunc(number) : 1;
}

module.exports = { LONGEST_DELAY, checkValue, delay, limit, wrongType };

'use strict';

const { inspect } = require('node:util');

/** The longest delay of a timer, in milliseconds; also the longest `spin`, in microseconds. */
const LONGEST_DELAY = 2 ** 31 - 1;

/** The largest limit of ws. */
const MOST = 2 ** 31 - 1;

/**
 * The values of an option: of a number the least and the most, of a string all.
 *
 * @typedef {{ type: 'number' | 'boolean' | 'string' | 'function', least?: number, most?: number, values?: string[] }}
 *   Range
 */

/** @type {(range: Range, value: unknown, label: string) => unknown} @throws {TypeError | RangeError} */
function checkValue({ type, least = 0, most = 0, values }, value, label) {
  if (values !== undefined) {
    if (values.includes(/** @type {string} */ (value))) return value;
    throw wrongType(label, values.map((one) => `'${one}'`).join(' or '), value);
  }
  if (typeof value !== type) throw wrongType(label, `a ${type}`, value);
  const number = /** @type {number} */ (value);
  if (type === 'number' && !(Number.isInteger(number) && number >= least && number <= most)) {
    throw new RangeError(`${label} must be an integer from ${least} to ${most}. Received ${inspect(value, { depth: 0 })}`);
  }
  return value;
}

/**
 * @param {string} label
 * @param {string} wanted The type wanted, with an article
 * @param {unknown} value
 */
function wrongType(label, wanted, value) {
  return new TypeError(`${label} must be ${wanted}. Received ${inspect(value, { depth: 0 })}`);
}

/**
 * An unknown name is an error where all options are our own.
 *
 * @type {(options: object | null | undefined, known: string[], label: string) => void}
 * @throws {TypeError}
 */
function checkNames(options, known, label) {
  if (options === undefined || options === null) return;
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) throw new TypeError(`${label}.${name} is not an option. There are: ${known.join(', ')}`);
  }
}

/**
 * Numbers that ws coerces: there anything else would mean no limit, or no time.
 *
 * @type {(options: Record<string, any>, names: string[], label?: string) => void}
 * @throws {TypeError | RangeError}
 */
function checkNumbers(options, names, label = 'options') {
  for (const name of names) {
    const value = options[name];
    if (value === undefined || value === null) continue;
    const isText = typeof value === 'string' && value.trim() !== '' && !Number.isNaN(Number(value));
    if (typeof value !== 'number' && !isText) throw wrongType(`${label}.${name}`, 'a number', value);
    if (!(Number(value) >= 0)) throw new RangeError(`${label}.${name} must be 0 or more. Received ${inspect(value, { depth: 0 })}`);
  }
}

/**
 * A limit as in ws: an integer of 32 bits, where 0 and less is no limit, but a fraction of 1 is
 * one. More than MOST is no limit either: to ws 1e10, meant as "no limit", is 1410065408.
 *
 * @param {number | undefined} value Of any type in fact
 * @returns {number} 0 is no limit
 */
function limit(value = 0) {
  return value > MOST ? 0 : Math.max(value | 0, value > 0 ? 1 : 0);
}

/**
 * A delay for `setTimeout`: at most the longest that it takes.
 *
 * @param {unknown} value Milliseconds
 * @returns {number} Milliseconds, at least 1
 */
function delay(value) {
  const number = /** @type {number} */ (value);
  return number >= 1 ? Math.trunc(Math.min(number, LONGEST_DELAY)) : 1;
}

module.exports = { LONGEST_DELAY, checkNames, checkNumbers, checkValue, delay, limit, wrongType };

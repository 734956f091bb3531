'use strict';

/** Milliseconds: the longest delay a timer takes. Also the most microseconds of `spin`. */
const LONGEST_DELAY = 2 ** 31 - 1;

/** The largest limit of ws. */
const MOST = 2 ** 31 - 1;

/**
 * A limit as ws takes it: an integer of 32 bits, where 0 and less is no limit. More than MOST is no
 * limit either: ws would take 1e10, which programs use for "as much as there is", for 1410065408.
 *
 * @param {any} value The value of an option, of any type: converted as in ws
 * @returns {number} 0 is no limit
 */
function limit(value) {
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

module.exports = { LONGEST_DELAY, delay, limit };

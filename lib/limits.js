'use strict';

/** What ws can take for a limit. */
const MOST = 2 ** 31 - 1;

/**
 * A limit as ws takes it: an integer of 32 bits; what is not positive is no limit. Nor is what is
 * more: ws would take 1e10, which programs use for "as much as there is", for 1410065408.
 *
 * @param {any} value
 * @returns {number} 0 is no limit
 */
function limit(value) {
  return value > MOST ? 0 : Math.max(value | 0, 0);
}

module.exports = { limit };

'use strict';

/**
 * A limit as ws takes it: an integer of 32 bits; what is not positive is no limit.
 *
 * @param {any} value
 * @returns {number} 0 is no limit
 */
function limit(value) {
  return Math.max(value | 0, 0);
}

module.exports = { limit };

'use strict';

const { constants } = require('node:buffer');
const { inspect } = require('node:util');

/**
 * A limit as ws takes it: an integer of 32 bits; what is not positive is no limit.
 *
 * @param {any} value
 * @returns {number} 0 is no limit
 */
function limit(value) {
  return Math.max(value | 0, 0);
}

/** What is told of, and a Buffer, cannot be longer. */
const LONGEST_MESSAGE = Math.min(constants.MAX_LENGTH, 2 ** 32 - 1);

/**
 * Checks the option `maxPayload`. What is more than any message could have is no limit by mistake; Infinity is none on purpose.
 *
 * @param {any} value
 * @throws {RangeError}
 */
function checkMaxPayload(value) {
  if (value === Infinity || !(value > LONGEST_MESSAGE)) return;
  throw new RangeError(`options.maxPayload must be at most ${LONGEST_MESSAGE}. Received ${inspect(value)}`);
}

module.exports = { LONGEST_MESSAGE, checkMaxPayload, limit };

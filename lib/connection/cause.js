'use strict';

const { CAUSE_BITS, CAUSE_SHIFT } = require('../bits');

/**
 * The connection ends for this reason, unless another came first.
 *
 * @param {{ _bits: number }} ws The connection
 * @param {number} cause One of CAUSE
 */
function endsBy(ws, cause) {
  if ((ws._bits & CAUSE_BITS) === 0) ws._bits |= cause << CAUSE_SHIFT;
}

/**
 * @param {{ _bits: number }} ws The connection
 * @returns {number} One of CAUSE; 0 while none is known
 */
function causeOf(ws) {
  return (ws._bits & CAUSE_BITS) >>> CAUSE_SHIFT;
}

module.exports = { causeOf, endsBy };

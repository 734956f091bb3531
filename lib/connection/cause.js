'use strict';

const { CAUSE_BITS, CAUSE_SHIFT } = require('../base/bits');

/**
 * The connection ends for this reason, unless another came first.
 *
 * @type {(ws: { _bits: number }, cause: number) => void}
 */
function endsBy(ws, cause) {
  if ((ws._bits & CAUSE_BITS) === 0) ws._bits |= cause << CAUSE_SHIFT;
}

/** One of CAUSE; 0 while none is known. @type {(ws: { _bits: number }) => number} */
function causeOf(ws) {
  return (ws._bits & CAUSE_BITS) >>> CAUSE_SHIFT;
}

module.exports = { causeOf, endsBy };

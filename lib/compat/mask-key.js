'use strict';

const { randomFillSync } = require('node:crypto');

const POOL_BYTES = 8 * 1024;
const KEY_BYTES = 4;

const key = Buffer.alloc(KEY_BYTES);
/** @type {Buffer | null} */
let pool = null;
let next = POOL_BYTES;

/**
 * A key that nobody can foresee, for one frame (RFC 6455, 5.3).
 *
 * @type {(generate: ((key: Buffer) => void) | undefined, target?: Buffer) => number}
 */
function maskKey(generate, target) {
  if (generate) {
    const bytes = target || key;
    generate(bytes);
    return bytes.readUInt32LE(0);
  }
  if (next === POOL_BYTES) {
    if (pool === null) pool = Buffer.allocUnsafeSlow(POOL_BYTES);
    randomFillSync(pool);
    next = 0;
  }
  const number = /** @type {Buffer} */ (pool).readUInt32LE(next);
  next += KEY_BYTES;
  if (target) target.writeUInt32LE(number);
  return number;
}

module.exports = { maskKey };

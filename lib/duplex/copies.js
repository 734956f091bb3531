'use strict';

/** Bytes: shorter payloads are copied with each frame. */
const LEAST_SHARED = 4 * 1024;

/** The last copy, while some stream still has to write it. @type {WeakRef<Buffer> | null} */
let last = null;

/**
 * A copy of some bytes as they are now, for a stream to write when it can: the caller may use its
 * memory again. Bytes that are sent time and again are copied once.
 *
 * @param {Uint8Array} data Bytes that a stream is given
 * @returns {Buffer} Not to be written to
 */
function sharedCopy(data) {
  const known = last?.deref();
  if (known !== undefined && known.length === data.length && known.equals(data)) return known;
  const copy = Buffer.allocUnsafeSlow(data.length);
  copy.set(data);
  last = new WeakRef(copy);
  return copy;
}

module.exports = { LEAST_SHARED, sharedCopy };

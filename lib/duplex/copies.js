'use strict';

/** Shorter payloads are copied with each frame. */
const LEAST_SHARED = 4 * 1024;

/** The last copy, as long as some stream still has it to write. @type {WeakRef<Buffer> | null} */
let last = null;

/**
 * Memory that has what some bytes are now, for a stream to write it when it can; the caller may use
 * his again. What is sent time and again is copied once.
 *
 * @param {Uint8Array} data
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

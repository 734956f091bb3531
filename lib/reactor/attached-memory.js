'use strict';

const { runInThisContext } = require('node:vm');
const { markAsUntransferable } = require('node:worker_threads');

/** Methods of an ArrayBuffer that detach it. */
const DETACHING = ['transfer', 'transferToFixedLength'];

/** In Node 22 these methods ignore the mark. */
const ignoresMark = DETACHING.every((name) => name in ArrayBuffer.prototype) && !isKept(Buffer.allocUnsafeSlow(1));

/**
 * The method in place of those. It belongs to the environment's own context, so that memory that a
 * program keeps does not keep the context of this package.
 */
const TRANSFER = `(function transfer() {
  throw new TypeError('ArrayBuffer is not detachable and could not be cloned.');
})`;
const transfer = ignoresMark ? runInThisContext(TRANSFER) : null;

/**
 * @param {Buffer} memory Memory of which nothing is lost if it is detached
 * @returns {boolean} Whether the mark keeps the memory attached
 */
function isKept(memory) {
  markAsUntransferable(memory.buffer);
  try {
    /** @type {{ transfer(): ArrayBuffer }} */ (/** @type {unknown} */ (memory.buffer)).transfer();
    return false;
  } catch {
    return true;
  }
}

/**
 * Memory for many messages, which a handler must not be able to detach. Before Node 24 there are
 * still ways to detach it, which `restore` of batch.js deals with.
 *
 * @param {number} bytes Length of the memory, in bytes
 * @returns {Buffer} The memory, which is not zeroed; its ArrayBuffer is its own
 */
function allocate(bytes) {
  const memory = Buffer.allocUnsafeSlow(bytes);
  markAsUntransferable(memory.buffer);
  if (transfer !== null) {
    for (const name of DETACHING) Object.defineProperty(memory.buffer, name, { value: transfer });
  }
  return memory;
}

module.exports = { allocate };

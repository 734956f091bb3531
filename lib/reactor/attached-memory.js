'use strict';

const { runInThisContext } = require('node:vm');
const { markAsUntransferable } = require('node:worker_threads');

/** Methods of an ArrayBuffer that detach it. */
const DETACHING = ['transfer', 'transferToFixedLength'];

/** Node 22 has these methods and lets them ignore the mark. */
const ignoresMark = DETACHING.every((name) => name in ArrayBuffer.prototype) && !isKept(Buffer.allocUnsafeSlow(1));

/**
 * In place of these methods. It belongs to the environment's own context, so that kept memory does
 * not keep the context of this package.
 */
const TRANSFER = `(function transfer() {
  throw new TypeError('ArrayBuffer is not detachable and could not be cloned.');
})`;
const transfer = ignoresMark ? runInThisContext(TRANSFER) : null;

/**
 * @param {Buffer} memory
 * @returns {boolean} Whether the mark keeps the memory attached
 */
function isKept(memory) {
  markAsUntransferable(memory.buffer);
  try {
    /** @type {any} */ (memory.buffer).transfer();
    return false;
  } catch {
    return true;
  }
}

/**
 * Memory that many messages live in: a handler must not be able to detach it. Before Node 24 there
 * are still ways, which `restore` of batch.js deals with.
 *
 * @param {number} bytes
 * @returns {Buffer} Not zeroed; its ArrayBuffer is its own
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

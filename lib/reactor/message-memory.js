'use strict';

const { getHeapSpaceStatistics } = require('node:v8');
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
 * Since V8 13 (Node 24) memory of ArrayBuffers brings on collections of the whole heap, one for
 * every 80 MB or so, even if all of it could be freed with the young generation. That generation is
 * collected when it is full of JavaScript objects, which messages have hardly any of. So their
 * memory is accompanied by garbage: figures are in benchmark/NOTES.md, "Collections".
 */
const isCounted = Number.parseInt(process.versions.v8, 10) < 13;

const MIB = 1024 * 1024;
/** Bytes of memory that a collection of the young generation is to free. */
const BYTES_PER_COLLECTION = 32 * MIB;
/** More garbage than this for each byte of memory costs more than it spares. */
const MOST_GARBAGE = 1 / 4;
/** Shorter memory is not worth it: the object that refers to it is garbage enough. */
const LEAST_BYTES = 4096;
/** Longer memory has no more garbage than this much. */
const MOST_BYTES = 8 * MIB;
/** Bytes of memory after which V8 may have made the young generation larger or smaller. */
const BYTES_PER_LOOK = 8 * MIB;
/** A longer array is not of the young generation's own pages: 64 KiB. */
const MOST_WORDS = 8192;

/** Garbage for each byte of memory. */
let share = 0;
let untilLook = 0;
/** Without a reference V8 would not make the array. @type {{ garbage: unknown[] | null }} */
const last = { garbage: null };

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
  const memory = allocateMovable(bytes);
  markAsUntransferable(memory.buffer);
  if (transfer !== null) {
    for (const name of DETACHING) Object.defineProperty(memory.buffer, name, { value: transfer });
  }
  return memory;
}

/**
 * Memory for messages that are taken back from handlers.
 *
 * @param {number} bytes Length of the memory, in bytes
 * @returns {Buffer} The memory, which is not zeroed; its ArrayBuffer is its own
 */
function allocateMovable(bytes) {
  shortLived(bytes);
  return Buffer.allocUnsafeSlow(bytes);
}

/**
 * Memory for received messages has been allocated, which will most likely be garbage soon.
 *
 * @param {number} bytes Length of the memory, in bytes
 */
function shortLived(bytes) {
  if (isCounted || bytes < LEAST_BYTES) return;
  untilLook -= bytes;
  if (untilLook <= 0) {
    untilLook = BYTES_PER_LOOK;
    share = Math.min(MOST_GARBAGE, youngBytes() / BYTES_PER_COLLECTION);
  }
  let words = Math.ceil((Math.min(bytes, MOST_BYTES) * share) / 8);
  for (; words > 0; words -= MOST_WORDS) last.garbage = new Array(Math.min(words, MOST_WORDS));
}

/** @returns {number} Bytes that the young generation has room for */
function youngBytes() {
  const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
  return young === undefined ? 0 : young.space_used_size + young.space_available_size;
}

module.exports = { allocate, allocateMovable, shortLived };

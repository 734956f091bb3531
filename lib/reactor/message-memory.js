'use strict';

const { getHeapSpaceStatistics } = require('node:v8');
const { runInThisContext } = require('node:vm');
const { markAsUntransferable } = require('node:worker_threads');

const DETACHING = ['transfer', 'transferToFixedLength'];

/** In Node 22 these methods ignore the mark. */
const ignoresMark = DETACHING.every((name) => name in ArrayBuffer.prototype) && !isKept(Buffer.allocUnsafeSlow(1));

/**
 * In their place. It belongs to the environment's own context: memory that a program keeps must not keep the context of
 * this package.
 */
const TRANSFER = `(function transfer() {
  throw new TypeError('ArrayBuffer is not detachable and could not be cloned.');
})`;
const transfer = ignoresMark ? runInThisContext(TRANSFER) : null;

/**
 * Since V8 13 (Node 24) each 80 MB or so of ArrayBuffers cause a collection of the whole heap, even if all of it could
 * be freed with the young generation. That is collected when it is full of JavaScript objects, of which messages have
 * few. So their memory is accompanied by garbage: benchmark/NOTES.md, "Collections".
 */
const isCounted = Number.parseInt(process.versions.v8, 10) < 13;

const MIB = 1024 * 1024;
const BYTES_PER_COLLECTION = 32 * MIB;
/** Garbage for each byte: more costs more than it spares. */
const MOST_GARBAGE = 1 / 4;
const LEAST_BYTES = 4096;
const MOST_BYTES = 8 * MIB;
/** After them V8 may have made the young generation larger or smaller. */
const BYTES_PER_LOOK = 8 * MIB;
/** A longer array has pages of its own. */
const MOST_WORDS = 8192;

/** Garbage for each byte of memory. */
let share = 0;
let untilLook = 0;
/** Without a reference V8 would not make the array. @type {{ garbage: unknown[] | null }} */
const last = { garbage: null };

/** @type {(memory: Buffer) => boolean} */
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
 * still ways to detach it, which `restore` of batch.js deals with. It is not zeroed; its ArrayBuffer is its own.
 *
 * @type {(bytes: number) => Buffer}
 */
function allocate(bytes) {
  const memory = allocateMovable(bytes);
  markAsUntransferable(memory.buffer);
  if (transfer !== null) {
    for (const name of DETACHING) Object.defineProperty(memory.buffer, name, { value: transfer });
  }
  return memory;
}

/** Memory for messages that are taken back from handlers, as of `allocate`. @type {(bytes: number) => Buffer} */
function allocateMovable(bytes) {
  shortLived(bytes);
  return Buffer.allocUnsafeSlow(bytes);
}

/** So much memory will most likely be garbage soon. @type {(bytes: number) => void} */
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

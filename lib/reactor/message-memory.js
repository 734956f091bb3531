'use strict';

const { getHeapSpaceStatistics } = require('node:v8');
const { runInThisContext } = require('node:vm');
const { markAsUntransferable } = require('node:worker_threads');

const DETACHING = ['transfer', 'transferToFixedLength'];

/** In Node 22 these methods ignore `markAsUntransferable`. */
const ignoresMark = DETACHING.every((name) => name in ArrayBuffer.prototype) && !isKept(Buffer.allocUnsafeSlow(1));

/** Replaces them. It belongs to the environment's own context: memory that a program keeps must not keep this package's context. */
const TRANSFER = `(function transfer() {
  throw new TypeError('ArrayBuffer is not detachable and could not be cloned.');
})`;
const transfer = ignoresMark ? runInThisContext(TRANSFER) : null;

/**
 * Since V8 13 (Node 24), about every 80 MB of ArrayBuffers cause a collection of the whole heap, even if the young
 * generation could free them all. That is collected when JavaScript objects fill it, and messages have few. So garbage
 * accompanies their memory: benchmark/NOTES.md, "Collections".
 */
const isCounted = Number.parseInt(process.versions.v8, 10) < 13;

const MIB = 1024 * 1024;
const BYTES_PER_COLLECTION = 32 * MIB;
/** Garbage per byte: more would cost more than it saves. */
const MAX_GARBAGE = 1 / 4;
const MIN_BYTES = 4096;
const MAX_BYTES = 8 * MIB;
/** Bytes between two checks of the young generation, which V8 resizes. */
const BYTES_PER_LOOK = 8 * MIB;
/** A longer array has its own pages. */
const MAX_WORDS = 8192;

/** Garbage per byte of memory. */
let share = 0;
let untilLook = 0;
/** Without a reference, V8 would not make the array. @type {{ garbage: unknown[] | null }} */
const last = { garbage: null };

/** @param {Buffer} memory */
function isKept(memory) {
  markAsUntransferable(memory.buffer);
  try {
    Reflect.get(memory.buffer, 'transfer').call(memory.buffer);
    return false;
  } catch {
    return true;
  }
}

/**
 * Memory for many messages, which handlers must not detach. Before Node 24 there are ways to; see `restore` of
 * batch.js. Not zeroed, with an ArrayBuffer of its own.
 *
 * @type {(bytes: number) => Buffer}
 */
function allocate(bytes) {
  const memory = allocateOwn(bytes);
  markAsUntransferable(memory.buffer);
  if (transfer !== null) {
    for (const name of DETACHING) Object.defineProperty(memory.buffer, name, { value: transfer });
  }
  return memory;
}

/** Memory for one message. @type {(bytes: number) => Buffer} */
function allocateOwn(bytes) {
  shortLived(bytes);
  return Buffer.allocUnsafeSlow(bytes);
}

/** This much memory will probably be garbage soon. @param {number} bytes */
function shortLived(bytes) {
  if (isCounted || bytes < MIN_BYTES) return;
  untilLook -= bytes;
  if (untilLook <= 0) {
    untilLook = BYTES_PER_LOOK;
    share = Math.min(MAX_GARBAGE, youngBytes() / BYTES_PER_COLLECTION);
  }
  let words = Math.ceil((Math.min(bytes, MAX_BYTES) * share) / 8);
  for (; words > 0; words -= MAX_WORDS) last.garbage = new Array(Math.min(words, MAX_WORDS));
}

/** Bytes in the young generation, used or not. */
function youngBytes() {
  const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
  return young === undefined ? 0 : young.space_used_size + young.space_available_size;
}

/** Before Node 24, a byte stream detaches memory that is marked, too. */
const isDetachable = isCounted;

module.exports = { allocate, allocateOwn, isDetachable, shortLived };

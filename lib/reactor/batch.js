'use strict';

const borrowing = require('./borrowing');
const { BORROWED } = require('../base/bits');
const { EMPTY_BUFFER, FastBuffer } = require('../base/constants');
const crossing = require('./crossing');
const { DRAINED_BYTES, DRAINED_HANDED, DRAINED_LENT, LENT_BYTES } = require('../base/layout');
const { IN_CLOSE, IN_FLAG_OWNED, IN_OPEN, IN_REQUEST, KIND_MASK } = require('../base/layout');
const { state } = require('./link');
const { allocate, allocateMovable, shortLived } = require('./message-memory');
const { connectionOf } = require('./table');

/**
 * Received payloads are views of slabs. A slab is never written twice, so a view is valid as long as the program keeps
 * it, with its slab.
 */
const SLAB_BYTES = 128 * 1024;

/** Lent buffers per reactor. A reactor that is further ahead uses memory of its own. */
const LENT_BUFFERS = 8;

/** The last drained batch. */
const batch = {
  /** The payloads' memory, the same as a Buffer, and the offset of the first. @type {ArrayBufferLike} */
  buffer: new ArrayBuffer(0),
  /** @type {Buffer} */
  bytes: Buffer.alloc(0),
  base: 0,
  /** A view was handed out. If not, the next batch overwrites the payloads. */
  viewed: false,
  /** The same for views that are taken back when their handlers return. */
  borrowed: false,
  /** Payloads with memory of their own that are taken back too. @type {Buffer[]} */
  taken: [],
};

/** Memory that batches are copied to; the last one is from `start` to `end`. @typedef {{ memory: Buffer, start: number, end: number }} Slab */

/** @type {Slab} */
const ownedSlab = { memory: Buffer.alloc(0), start: 0, end: 0 };
/** For batches with borrowed messages, which begin at its start. @type {Slab} */
const borrowedSlab = { memory: Buffer.alloc(0), start: 0, end: 0 };
let slab = ownedSlab;
/**
 * Memory that reactors read into, by number. A large batch hands it over for good, without a copy; a small one lends it
 * until the next drain. The native part keeps this list.
 *
 * @type {(Buffer | undefined)[]}
 */
let lent = [];
/** Memory that the last batch handed over. @type {Buffer | null} */
let handed = null;
/** Whether memory is movable, so that messages can be taken back. If not, nobody can detach it. */
let isBorrowing = false;
/** A handler has detached memory: from then on, large batches are copied. */
let isWary = false;

/** @param {(Buffer | undefined)[]} list Empty until now */
function attach(list) {
  lent = list;
  // Detached memory has no bytes, so an empty batch needs memory that has some.
  newSlab(0);
}

/** @param {number} least Bytes */
function newSlab(least) {
  const bytes = Math.max(least, SLAB_BYTES);
  slab.memory = slab === borrowedSlab ? allocateMovable(bytes) : allocate(bytes);
  slab.start = slab.end = 0;
}

/**
 * Flushes, and takes the oldest waiting batch: records into `words`, payloads into the slab, or in the memory lent for
 * them. Returns the number of records.
 *
 * @type {(streamsOnly: boolean) => number}
 */
function nextBatch(streamsOnly) {
  const viewed = isBorrowing ? takeBack() : batch.viewed;
  if (viewed) slab.start = slab.end;
  batch.viewed = false;
  if (handed !== null) {
    // Memory that no handler has seen can be used again.
    lend(viewed && batch.bytes === handed ? memoryOf(LENT_BYTES) : handed);
    show(slab.memory, slab.start);
    handed = null;
  }
  const count = crossing.drain(streamsOnly);
  if (count === 0) return 0;
  // -1: the payloads are in the reactor's own memory, and more should be lent.
  const id = state.words[DRAINED_LENT] - 1;
  if (state.words[DRAINED_HANDED] !== 0) {
    handed = /** @type {Buffer} */ (lent[id]);
    lent[id] = undefined;
    // No byte of this batch is in the slab.
    slab.end = slab.start;
    if (!isWary) show(handed, 0);
  }
  if (handed === null || isWary) {
    if (isBorrowing) slab = mayBorrow(count) ? borrowedSlab : ownedSlab;
    intoSlab();
  }
  if (handed === null && id === -1 && lent.length < LENT_BUFFERS * state.links) lend(memoryOf(LENT_BYTES));
  return count;
}

/**
 * Takes back the borrowed messages of the last batch. Returns whether its memory is kept all the same: part of it is
 * not borrowed, or it was lent before anybody borrowed.
 *
 * @type {() => boolean}
 */
function takeBack() {
  const { borrowed, bytes, taken, viewed } = batch;
  if (!borrowed) return viewed;
  batch.borrowed = false;
  if (taken.length !== 0) {
    for (const data of taken) borrowing.takeBack(data);
    // Even for an empty array, a call of V8's runtime.
    taken.length = 0;
  }
  const isKept = viewed || !renew(bytes);
  borrowing.returned();
  return isKept;
}

/** Returns whether the memory is ours alone again; false if nothing has changed. @type {(memory: Buffer) => boolean} */
function renew(memory) {
  const isSlab = memory === slab.memory;
  if (!isSlab && memory !== handed) return false;
  // Bytes before it are not borrowed.
  if (isSlab && slab.start !== 0) return false;
  const moved = borrowing.move(memory);
  if (moved === null && memory.length !== 0) return false;
  if (isSlab) {
    if (moved === null) newSlab(0);
    else slab.memory = moved;
    slab.end = 0;
  } else {
    handed = moved ?? memoryOf(LENT_BYTES);
  }
  show(slab.memory, slab.start);
  return true;
}

/** Whether messages are borrowed. If so, memory is movable from now on. @type {(options: object) => boolean} */
function lendsMessages(options) {
  if (!Object.hasOwn(options, 'messages') || /** @type {{ messages?: unknown }} */ (options).messages !== 'borrowed') return false;
  if (!isBorrowing) {
    isBorrowing = true;
    borrowing.begin();
    // As in `attach`.
    borrowedSlab.memory = allocateMovable(SLAB_BYTES);
  }
  return true;
}

/** Not zeroed, with an ArrayBuffer of its own. @type {(bytes: number) => Buffer} */
function memoryOf(bytes) {
  return isBorrowing ? allocateMovable(bytes) : allocate(bytes);
}

/**
 * False if the batch has no borrowed message: kept small messages would each hold a slab, if every batch began a new
 * one.
 *
 * @type {(count: number) => boolean}
 */
function mayBorrow(count) {
  const { words: records } = state;
  let previous = -1;
  for (let word = 0; word < count << 2; word += 4) {
    const slot = records[word];
    const kind = records[word + 1] & KIND_MASK;
    if (kind === IN_OPEN || kind === IN_REQUEST) return true;
    if (kind > IN_CLOSE || slot === previous) continue;
    if (((connectionOf(slot)?._bits ?? 0) & BORROWED) !== 0) return true;
    previous = slot;
  }
  return false;
}

function intoSlab() {
  const bytes = state.words[DRAINED_BYTES];
  const from = handed === null ? lent[state.words[DRAINED_LENT] - 1] : handed;
  // Bytes after messages that handlers own cannot be taken back.
  const isShared = slab === borrowedSlab && slab.start !== 0 && bytes !== 0;
  if (isShared || bytes > slab.memory.length - slab.start) newSlab(bytes);
  const { memory, start } = slab;
  if (from === undefined) state.native.copyBytes(memory, start);
  else if (bytes !== 0) memory.set(new FastBuffer(from.buffer, 0, bytes), start);
  // Batches begin at multiples of 8, so that handlers can lay typed arrays over their start.
  slab.end = Math.min((start + bytes + 7) & ~7, memory.length);
  show(memory, start);
}

/** @type {(memory: Buffer, base: number) => void} */
function show(memory, base) {
  batch.bytes = memory;
  batch.base = base;
  batch.buffer = memory.buffer;
}

/** @param {Uint8Array} chunk Of a stream, with all payloads of the batch */
function showChunk(chunk) {
  shortLived(chunk.byteLength);
  batch.bytes = /** @type {Buffer} */ (chunk);
  batch.base = chunk.byteOffset;
  batch.buffer = chunk.buffer;
}

/**
 * A handler has detached the memory of the current batch (before Node 24): copies the bytes again. Returns false if
 * they came without a copy, and are lost.
 *
 * @type {() => boolean}
 */
function restore() {
  const isCopy = batch.bytes === slab.memory;
  isWary ||= isCopy || batch.bytes === handed;
  if (!isCopy) return false;
  newSlab(0);
  intoSlab();
  return true;
}

/** @param {Buffer} memory Nothing else refers to it */
function lend(memory) {
  const free = lent.indexOf(undefined);
  const id = free === -1 ? lent.length : free;
  lent[id] = memory;
  crossing.lend(id, memory);
}

/** A payload that is too large for the slab. @type {(index: number, length: number) => Buffer} */
function takeLarge(index, length) {
  const data = allocateMovable(length);
  state.native.takeLarge(index, data);
  return data;
}

/** A view of the current batch is handed out. */
function keep() {
  batch.viewed = true;
}

/** @typedef {(tag: number, offset: number, length: number) => Buffer} ReadPayload */

/** Of the current batch. @type {ReadPayload} */
function payload(tag, offset, length) {
  if (length === 0) return EMPTY_BUFFER;
  if ((tag & IN_FLAG_OWNED) === 0) keep();
  return peek(tag, offset, length);
}

/** For code that is done with it before any handler runs: the batch need not be kept. @type {ReadPayload} */
function peek(tag, offset, length) {
  if ((tag & IN_FLAG_OWNED) !== 0) return takeLarge(offset, length);
  return new FastBuffer(batch.buffer, batch.base + offset, length);
}

/** For a handler: the next `nextBatch` takes it back. @type {ReadPayload} */
function borrowedPayload(tag, offset, length) {
  if (length === 0) return EMPTY_BUFFER;
  const data = peek(tag, offset, length);
  if ((tag & IN_FLAG_OWNED) === 0) {
    borrow(data);
  } else {
    batch.borrowed = true;
    batch.taken.push(data);
  }
  return data;
}

/** The next `nextBatch` takes it back from a handler. @param {Buffer} data */
function borrow(data) {
  batch.borrowed = true;
  borrowing.lend(data);
}

module.exports = {
  attach,
  batch,
  borrow,
  borrowedPayload,
  keep,
  lendsMessages,
  nextBatch,
  payload,
  peek,
  restore,
  showChunk,
  takeLarge,
};

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
 * Received payloads are views of slabs. A slab is never written twice, so a view stays valid for as long as the program
 * keeps it; the price is that the view keeps its slab.
 */
const SLAB_BYTES = 128 * 1024;

/** Batches of one reactor in lent memory. A reactor that is further ahead uses memory of its own. */
const LENT_BUFFERS = 8;

/** The batch that was drained last: its records, and the place of their payloads. */
const batch = {
  /** The memory with the payloads, the same as a Buffer, and the offset at which they begin. @type {ArrayBufferLike} */
  buffer: new ArrayBuffer(0),
  /** @type {Buffer} */
  bytes: Buffer.alloc(0),
  base: 0,
  /** A view of them was handed out. If not, the next batch takes their place. */
  viewed: false,
  /** The same of a view that is taken back when its handler has returned. */
  borrowed: false,
  /** Payloads in memory of their own that are taken back too. @type {Buffer[]} */
  taken: [],
};

/**
 * Memory that batches are copied to; `start` and `end` are those of the last one.
 *
 * @typedef {{ memory: Buffer, start: number, end: number }} Slab
 */

/** @type {Slab} */
const ownedSlab = { memory: Buffer.alloc(0), start: 0, end: 0 };
/** For batches of which a part is taken back: they begin where it begins. @type {Slab} */
const borrowedSlab = { memory: Buffer.alloc(0), start: 0, end: 0 };
let slab = ownedSlab;
/**
 * Memory that the reactors read into, by its number. It comes back with a batch: for good with a large one, which then
 * needs no copy, and until the next drain with a small one. The native part keeps this list.
 *
 * @type {(Buffer | undefined)[]}
 */
let lent = [];
/** Memory that came back for good with the last batch. @type {Buffer | null} */
let handed = null;
/** Whether messages may be taken back: a handler cannot detach memory, but neither can we. */
let isBorrowing = false;
/** Whether a handler has detached memory: large batches are copied from then on. */
let isWary = false;

/** @param {(Buffer | undefined)[]} list Stays empty until now */
function attach(list) {
  lent = list;
  // Detached memory has no bytes: a batch without bytes must not be shown in memory that has none.
  newSlab(0);
}

/** @param {number} least Bytes that must fit */
function newSlab(least) {
  const bytes = Math.max(least, SLAB_BYTES);
  slab.memory = slab === borrowedSlab ? allocateMovable(bytes) : allocate(bytes);
  slab.start = slab.end = 0;
}

/**
 * Flushes, and takes the oldest batch that waits: its records into `words`, its payloads into the slab,
 * or with the memory that was lent for them. Returns the number of records.
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
  // -1: the reactor's own memory has the payloads, and more should be lent.
  const id = state.words[DRAINED_LENT] - 1;
  if (state.words[DRAINED_HANDED] !== 0) {
    handed = /** @type {Buffer} */ (lent[id]);
    lent[id] = undefined;
    // The slab has no bytes of this batch.
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
 * Takes back the borrowed messages of the last drained batch: no handler sees them any more. Returns whether its
 * memory is kept all the same: a part is not borrowed, or it cannot be taken back as it has been lent before there
 * was anybody to borrow.
 *
 * @type {() => boolean}
 */
function takeBack() {
  const { borrowed, bytes, taken, viewed } = batch;
  if (!borrowed) return viewed;
  batch.borrowed = false;
  if (taken.length !== 0) {
    for (const data of taken) borrowing.takeBack(data);
    // A call of V8's runtime, even of an array that is empty.
    taken.length = 0;
  }
  const isKept = viewed || !renew(bytes);
  borrowing.returned();
  return isKept;
}

/**
 * Returns whether only this file has the memory now; false if nothing has changed.
 *
 * @type {(memory: Buffer) => boolean}
 */
function renew(memory) {
  const isSlab = memory === slab.memory;
  if (!isSlab && memory !== handed) return false;
  // The bytes before it are not borrowed.
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

/**
 * Whether its messages are borrowed. If so, memory from now on is of a kind that can be taken back.
 *
 * @type {(options: object) => boolean}
 */
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

/** The memory, which is not zeroed; its ArrayBuffer is its own. @type {(bytes: number) => Buffer} */
function memoryOf(bytes) {
  return isBorrowing ? allocateMovable(bytes) : allocate(bytes);
}

/**
 * Small messages that are kept would each have a slab of their own, if every batch began a new one.
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

/** Copies the bytes of the last drained batch into the slab. */
function intoSlab() {
  const bytes = state.words[DRAINED_BYTES];
  const from = handed === null ? lent[state.words[DRAINED_LENT] - 1] : handed;
  // Bytes after messages that handlers own could not be taken back.
  const isShared = slab === borrowedSlab && slab.start !== 0 && bytes !== 0;
  if (isShared || bytes > slab.memory.length - slab.start) newSlab(bytes);
  const { memory, start } = slab;
  if (from === undefined) state.native.copyBytes(memory, start);
  else if (bytes !== 0) memory.set(new FastBuffer(from.buffer, 0, bytes), start);
  // Batches begin at multiples of 8 so that handlers can lay typed arrays over what starts a batch.
  slab.end = Math.min((start + bytes + 7) & ~7, memory.length);
  show(memory, start);
}

/** @type {(memory: Buffer, base: number) => void} */
function show(memory, base) {
  batch.bytes = memory;
  batch.base = base;
  batch.buffer = memory.buffer;
}

/** @param {Uint8Array} chunk A chunk of a stream, with all payloads of the batch */
function showChunk(chunk) {
  shortLived(chunk.byteLength);
  batch.bytes = /** @type {Buffer} */ (chunk);
  batch.base = chunk.byteOffset;
  batch.buffer = chunk.buffer;
}

/**
 * A handler has detached the memory of the batch being delivered, as Node before 24 lets it: the bytes of the batch
 * are copied again. Returns false if they came without a copy and are gone.
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

/** @param {Buffer} memory Memory that nothing else refers to */
function lend(memory) {
  const free = lent.indexOf(undefined);
  const id = free === -1 ? lent.length : free;
  lent[id] = memory;
  crossing.lend(id, memory);
}

/** A payload of that batch that is too large for the slab. @type {(index: number, length: number) => Buffer} */
function takeLarge(index, length) {
  const data = allocateMovable(length);
  state.native.takeLarge(index, data);
  return data;
}

/** A view of the batch being delivered was handed out. */
function keep() {
  batch.viewed = true;
}

/** The payload of a record of the batch being delivered. @type {(tag: number, offset: number, length: number) => Buffer} */
function payload(tag, offset, length) {
  if (length === 0) return EMPTY_BUFFER;
  if ((tag & IN_FLAG_OWNED) === 0) keep();
  return peek(tag, offset, length);
}

/**
 * The same, for code that has read it before a handler runs. A view that a handler might keep would cost the memory of
 * the whole batch.
 *
 * @type {(tag: number, offset: number, length: number) => Buffer}
 */
function peek(tag, offset, length) {
  if ((tag & IN_FLAG_OWNED) !== 0) return takeLarge(offset, length);
  return new FastBuffer(batch.buffer, batch.base + offset, length);
}

/**
 * The same, for a handler from which the next `nextBatch` takes it back.
 *
 * @type {(tag: number, offset: number, length: number) => Buffer}
 */
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

/** A handler gets a message that the next `nextBatch` takes back. @type {(data: Buffer) => void} */
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

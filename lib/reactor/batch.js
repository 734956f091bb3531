'use strict';

const { EMPTY_BUFFER, FastBuffer } = require('../base/constants');
const {
  DRAINED_BYTES,
  DRAINED_HANDED,
  DRAINED_LENT,
  DRAINED_STREAMS,
  HANDED_REPORTS,
  IN_FLAG_OWNED,
  LENT_BYTES,
  LENT_ID,
} = require('../base/layout');
const { state } = require('./reactors');
const { exchange } = require('./outbox');
const { allocate, allocateOwn, isDetachable, shortLived } = require('./message-memory');

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
};

/** Memory that batches are copied to; the last one is from `start` to `end`. @type {{ memory: Buffer, start: number, end: number }} */
const slab = { memory: Buffer.alloc(0), start: 0, end: 0 };
/**
 * Memory that reactors read into, by number. A large batch hands it over for good, without a copy; a small one lends it
 * until the next drain. The native part keeps this list.
 *
 * @type {(Buffer | undefined)[]}
 */
let lent = [];
/** Memory that the last batch handed over. @type {Buffer | null} */
let handed = null;
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
  slab.memory = allocate(Math.max(least, SLAB_BYTES));
  slab.start = slab.end = 0;
}

/**
 * Flushes, gives the last batch back, and takes the oldest waiting one: records into `words`, payloads into the slab, or
 * in the memory lent for them. Returns the number of records; `DRAINED_` words have the rest.
 *
 * @type {(streamsOnly: boolean) => number}
 */
function nextBatch(streamsOnly) {
  const { viewed } = batch;
  if (viewed) slab.start = slab.end;
  batch.viewed = false;
  if (handed !== null) {
    // Memory that no handler has seen can be used again.
    lend(viewed && batch.bytes === handed ? allocate(LENT_BYTES) : handed);
    show(slab.memory, slab.start);
    handed = null;
  }
  state.words[DRAINED_STREAMS] = streamsOnly ? 1 : 0;
  const count = exchange(state.calls.drain);
  if (count === 0) return 0;
  // -1: the payloads are in the reactor's own memory, and more should be lent.
  const id = state.words[DRAINED_LENT] - 1;
  const kind = state.words[DRAINED_HANDED];
  // A handler can lose bytes of peers, which ends their connections, but no reports.
  const isCopied = kind === 0 || isWary || (kind === HANDED_REPORTS && isDetachable);
  if (kind !== 0) {
    handed = /** @type {Buffer} */ (lent[id]);
    lent[id] = undefined;
    // No byte of this batch is in the slab.
    slab.end = slab.start;
    if (!isCopied) show(handed, 0);
  }
  if (isCopied) intoSlab();
  if (handed === null && id === -1 && lent.length < LENT_BUFFERS * state.links) lend(allocate(LENT_BYTES));
  return count;
}

function intoSlab() {
  const bytes = state.words[DRAINED_BYTES];
  const from = handed === null ? lent[state.words[DRAINED_LENT] - 1] : handed;
  if (bytes > slab.memory.length - slab.start) newSlab(bytes);
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
  state.words[LENT_ID] = id;
  state.calls.lend(memory);
}

/** A payload that is too large for the slab. @type {(index: number, length: number) => Buffer} */
function takeLarge(index, length) {
  const data = allocateOwn(length);
  state.native.takeLarge(index, data);
  return data;
}

/** A view of the current batch is handed out. */
function keep() {
  batch.viewed = true;
}

/** @typedef {(tag: number, offset: number, length: number) => Buffer} ReadPayload */

/** A payload of the current batch. @type {ReadPayload} */
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

module.exports = {
  attach,
  batch,
  keep,
  nextBatch,
  payload,
  peek,
  restore,
  showChunk,
  takeLarge,
};

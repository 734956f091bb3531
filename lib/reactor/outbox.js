'use strict';

// Records for the reactors, with payloads, collected in an arena until it is handed over.

const { FastBuffer } = require('../base/constants');
const { isSameMemory, lengthOf, unshared } = require('../base/views');
const streamOps = require('./stream-ops');
const { state } = require('./reactors');
const {
  AUX_SHIFT,
  FLUSHED_BYTES,
  FLUSHED_MIXED,
  FLUSHED_NEXT,
  IN_PLACE,
  KIND_MASK,
  OUTBOUND_GENERATION,
  OUTBOUND_LENGTH,
  OUTBOUND_TAG,
  OUT_ALIGN,
  OUT_FLAG_LARGE,
  OUT_FLAG_SAME,
  OUT_FLAG_SHARED,
  OUT_FLAG_WANT_SENT,
  OUT_HEADER_BYTES,
  OUT_TEXT,
  PIPE_SLOTS,
  SHARED_OTHER,
  SHARED_TEXT,
  TOPIC_SLOT,
  TOPIC_STREAMS,
} = require('../base/layout');

// Not the global one, which a test can replace.
const { queueMicrotask } = globalThis;

/** Room for the answers to a full batch. */
const ARENA_BYTES = 320 * 1024;

/** One arena is filled here while the others are under way. A reactor that has all others gets copies. */
const ARENAS = 4;

/** A payload of at least this many bytes travels by itself, not in the arena. */
const LARGE_BYTES = 64 * 1024;

/** The same while this thread has the sockets, which writes payloads in place. */
const DIRECT_BYTES = 16 * 1024;

/** From this many bytes on, comparing with the previous payload costs less than another copy. */
const SAME_BYTES = 4096;

/** In the tag of a record about topics: it also goes to the reactor of streams. */
const FOR_STREAMS = TOPIC_STREAMS << AUX_SHIFT;

/** A text of at most this length is first tried as ASCII, in a loop that costs less than `utf8Write`. */
const LOOP_CHARACTERS = 10;

/** Most UTF-8 bytes of a UTF-16 code unit. */
const CHARACTER_BYTES = 3;

/** Looked up once, as through Buffers it takes V8 longer. @type {(data: Uint8Array, start: number) => void} */
const setBytes = Uint8Array.prototype.set;
const { compare } = Buffer;

/** Node's types lack `utf8Write`. @typedef {Buffer & { utf8Write(text: string, start: number, length?: number): number }} Arena */

/** The arena being filled, its words, and the bytes in use. */
let arena = /** @type {Arena} */ (Buffer.alloc(0));
let words = new Uint32Array(0);
let used = 0;
/** Some of its records are for the reactor of streams. */
let isMixed = false;
/** A delivery or a microtask is going to flush. */
let flushComing = false;
/** The last record is the first outside of a delivery. */
let isFirst = false;

/** By number. The native part keeps this list. Nothing else refers to an arena, so no code can detach it while a reactor reads. @type {Buffer[]} */
let arenas = [];
/**
 * Not in that list: with an object of our realm, the native part would hold the global object of this copy of the
 * package.
 *
 * @type {Uint32Array<ArrayBuffer>[]}
 */
const arenaWords = [];

/**
 * A record since the last flush. If the next one has the same payload, the reactor keeps it under a number, so that
 * it is framed once. Without this, a plain loop over `clients` takes 1.19 times the CPU time with 16 KiB to each of 100
 * connections, and 1.26 times with 1 KiB of text to each of 1,000.
 *
 * @typedef {object} Last
 * @property {number} number
 * @property {Uint8Array | string} data Argument of `send()`; '' for none
 * @property {number} slot A connection rarely gets the same text twice
 * @property {number} tag
 * @property {number} start Where its payload would be in the arena
 * @property {number} length
 * @property {Uint8Array | null} copy The bytes in the arena, once `data` was compared with them
 */

// Programs can alternate between text and bytes.
/** @type {Last} */
const lastText = { number: SHARED_TEXT, data: '', slot: -1, tag: 0, start: 0, length: 0, copy: null };
/** @type {Last} */
const lastOther = { ...lastText, number: SHARED_OTHER };
/** The record with the last payload that travelled by itself. */
let lastLarge = lastOther;

/** @param {Buffer[]} list Empty until now */
function attach(list) {
  arenas = list;
  lendArena();
  fill(0);
}

/** @param {number} id Of the arena to fill */
function fill(id) {
  arena = /** @type {Arena} */ (arenas[id]);
  words = arenaWords[id];
}

function lendArena() {
  if (arenas.length === ARENAS) return;
  const memory = Buffer.allocUnsafeSlow(ARENA_BYTES);
  const id = arenas.push(memory) - 1;
  arenaWords.push(new Uint32Array(memory.buffer));
  state.native.lendArena(id, memory);
}

/** @template Data @typedef {(slot: number, generation: number, tag: number, data: Data) => number} Push */

/**
 * Appends a record whose payload is text or bytes. Returns the bytes of the payload.
 * `tag` is kind | flags << 8 | aux << 16.
 *
 * @type {Push<string | Uint8Array>}
 */
function push(slot, generation, tag, data) {
  if (typeof data !== 'string') return pushBytes(slot, generation, tag, data);
  const characters = data.length;
  if (characters <= LOOP_CHARACTERS) {
    const start = begin(slot, generation, tag, characters * CHARACTER_BYTES);
    const length = writeShort(data, start);
    finish(start, length);
    return length;
  }
  const last = lastOf(tag);
  const isOther = slot !== last.slot;
  if (isOther && data === last.data && mayShare(last, tag)) return pushSame(last, slot, generation, tag);
  if (characters >= LARGE_BYTES) return pushLarge(slot, generation, tag, Buffer.from(data), data);
  const start = begin(slot, generation, tag, characters * CHARACTER_BYTES);
  const length = arena.utf8Write(data, start, characters * CHARACTER_BYTES);
  finish(start, length);
  if (isOther) remember(last, slot, tag, data, start, length);
  return length;
}

/** @type {(text: string, start: number) => number} */
function writeShort(text, start) {
  const { length } = text;
  for (let index = 0; index < length; index++) {
    const code = text.charCodeAt(index);
    if (code > 0x7f) return arena.utf8Write(text, start, length * CHARACTER_BYTES);
    arena[start + index] = code;
  }
  return length;
}

/** @type {Push<Uint8Array>} */
function pushBytes(slot, generation, tag, data) {
  let { length } = data;
  // V8 knows the type of `data` by now, and removes this call.
  if (length !== lengthOf.call(data)) length = lengthOf.call(data);
  if (length >= SAME_BYTES) return pushLong(slot, generation, tag, data, length);
  const start = begin(slot, generation, tag, length);
  // A view of detached memory has no bytes, and `set` throws for it.
  if (length !== 0) Reflect.apply(setBytes, arena, [data, start]);
  finish(start, length);
  return length;
}

/**
 * Bytes that can also go to other connections.
 *
 * @type {(slot: number, generation: number, tag: number, data: Uint8Array, length: number) => number}
 */
function pushLong(slot, generation, tag, data, length) {
  const last = lastOf(tag);
  if (mayShare(last, tag) && isLastBytes(last, data, length)) return pushSame(last, slot, generation, tag);
  // Those that a connection gets together leave in one write, which costs less than to copy them.
  if (length >= (state.words[IN_PLACE] === 1 && slot !== last.slot ? DIRECT_BYTES : LARGE_BYTES)) {
    const bytes = unshared(data);
    return pushLarge(slot, generation, tag, bytes, bytes);
  }
  const start = begin(slot, generation, tag, length);
  Reflect.apply(setBytes, arena, [data, start]);
  finish(start, length);
  remember(last, slot, tag, data, start, length);
  return length;
}

/** Appends a record with a payload that travels by itself. @type {(slot: number, generation: number, tag: number, bytes: Uint8Array, data: Uint8Array | string) => number} */
function pushLarge(slot, generation, tag, bytes, data) {
  const length = lengthOf.call(bytes);
  const isInPlace = state.words[IN_PLACE] === 1;
  // First: the record and the payload need the same flush.
  const start = begin(slot, generation, tag | OUT_FLAG_LARGE, 0);
  if (!isInPlace) state.native.addLarge(bytes);
  finish(start, 0);
  words[wordOf(start) + OUTBOUND_LENGTH] = length;
  if (isInPlace) {
    exchange(state.calls.flushWith, bytes);
    lastOf(tag).slot = slot;
    return length;
  }
  lastLarge = lastOf(tag);
  remember(lastLarge, slot, tag, data, start, length);
  return length;
}

/** @type {(slot: number, generation: number, tag: number) => void} */
function pushEmpty(slot, generation, tag) {
  finish(begin(slot, generation, tag, 0), 0);
}

/** Appends a record with a few words as its payload. @type {(slot: number, generation: number, tag: number, payload: number[]) => void} */
function pushWords(slot, generation, tag, payload) {
  const length = payload.length * Uint32Array.BYTES_PER_ELEMENT;
  const start = begin(slot, generation, tag, length);
  words.set(payload, start >>> 2);
  finish(start, length);
}

/** @param {number} tag */
function lastOf(tag) {
  return (tag & KIND_MASK) === OUT_TEXT ? lastText : lastOther;
}

/** @type {(last: Last, slot: number, tag: number, data: Uint8Array | string, start: number, length: number) => void} */
function remember(last, slot, tag, data, start, length) {
  last.data = data;
  last.slot = slot;
  last.tag = tag;
  last.start = start;
  last.length = length;
  last.copy = null;
}

/** Whether a record with this tag can share the payload of the last one, without a flush in between. @type {(last: Last, tag: number) => boolean} */
function mayShare(last, tag) {
  return ((tag ^ last.tag) & ~OUT_FLAG_WANT_SENT) === 0 && used + OUT_HEADER_BYTES <= ARENA_BYTES;
}

/** Appends a record with the payload of the last one. @type {(last: Last, slot: number, generation: number, tag: number) => number} */
function pushSame(last, slot, generation, tag) {
  words[wordOf(last.start) + OUTBOUND_TAG] |= OUT_FLAG_SHARED;
  const start = begin(slot, generation, tag | OUT_FLAG_SAME, 0);
  words[wordOf(start) + OUTBOUND_LENGTH] = last.number;
  used = start;
  return last.length;
}

/**
 * Whether these bytes were sent last, perhaps through another view, and are unchanged.
 *
 * @type {(last: Last, data: Uint8Array, length: number) => boolean}
 */
function isLastBytes(last, data, length) {
  if (typeof last.data === 'string' || length !== last.length || !isSameMemory(last.data, data)) return false;
  // A text with these very bytes might have been sent in between.
  if (length >= LARGE_BYTES) return last === lastLarge && state.native.isLastLarge(data);
  last.copy ??= new FastBuffer(arena.buffer, last.start, length);
  return compare(last.copy, data) === 0;
}

/**
 * Writes the header of a record whose payload takes at most `room` bytes of the arena. Returns the offset for the
 * payload.
 *
 * @type {(slot: number, generation: number, tag: number, room: number) => number}
 */
function begin(slot, generation, tag, room) {
  // Repeatedly, if a stream that is written to sends something meanwhile.
  while (used + OUT_HEADER_BYTES + room > ARENA_BYTES) flush();
  isFirst = !flushComing;
  if (isFirst) {
    flushComing = true;
    queueMicrotask(endBatching);
  }
  if (slot >= PIPE_SLOTS && (slot !== TOPIC_SLOT || (tag & FOR_STREAMS) !== 0)) isMixed = true;
  const word = used >>> 2;
  words[word] = slot;
  words[word + OUTBOUND_GENERATION] = generation;
  words[word + OUTBOUND_TAG] = tag;
  return used + OUT_HEADER_BYTES;
}

/** The first word of the record with this payload. @param {number} start */
function wordOf(start) {
  return (start - OUT_HEADER_BYTES) >>> 2;
}

/** @type {(start: number, length: number) => void} */
function finish(start, length) {
  words[wordOf(start) + OUTBOUND_LENGTH] = length;
  used = (start + length + OUT_ALIGN - 1) & -OUT_ALIGN;
}

/**
 * The first record outside of a delivery leaves at once: the peer can see the caller's next step, such as ending a
 * response.
 */
function handOver() {
  if (isFirst) flush();
}

/** The caller promises a flush: none is scheduled until `endBatching`. */
function beginBatching() {
  flushComing = true;
}

function endBatching() {
  flushComing = false;
  flush();
  lastText.slot = lastOther.slot = -1;
}

function flush() {
  if (used !== 0) exchange(state.calls.flush);
}

/** Sends to a stream at once. As in ws, errors of the stream are thrown here. @param {() => void} send */
function sendNow(send) {
  streamOps.throwing(() => {
    send();
    flush();
  });
}

/**
 * One native call: hands over the collected records and takes the results of `call`.
 *
 * @type {<T>(call: (payload: Uint8Array) => T, payload?: Uint8Array) => T}
 */
function exchange(call, payload) {
  const collected = used;
  const shared = state.words;
  used = 0;
  lastText.data = lastOther.data = '';
  lastText.slot = lastOther.slot = -1;
  lastText.copy = lastOther.copy = null;
  shared[FLUSHED_BYTES] = collected;
  if (isMixed) {
    isMixed = false;
    shared[FLUSHED_MIXED] = 1;
  }
  try {
    return call(/** @type {Uint8Array} */ (payload));
  } finally {
    // Also when it threw: the reactor might have the arena by now.
    const next = shared[FLUSHED_NEXT];
    if (next !== 0) fill(next - 1);
    else if (collected !== 0) lendArena();
    streamOps.runOps();
  }
}

module.exports = {
  FOR_STREAMS,
  SAME_BYTES,
  attach,
  beginBatching,
  endBatching,
  exchange,
  flush,
  handOver,
  push,
  pushEmpty,
  pushWords,
  sendNow,
};

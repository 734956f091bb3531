'use strict';

const { ARENA_BYTES, arenaWords, lendArena } = require('./arenas');
const same = require('./same');
const { lengthOf, unshared } = require('../views');
const {
  FLUSHED_BYTES,
  FLUSHED_NEXT,
  OUT_FLAG_LARGE,
  OUT_FLAG_SAME,
  OUT_FLAG_SHARED,
  OUT_HEADER_BYTES,
} = require('./layout');

/** Payloads of this many bytes and more go to the reactor by themselves instead of through the arena. */
const LARGE_BYTES = 64 * 1024;

/**
 * The same where the reactor is on this thread: it writes them from where they are. Shorter ones cost less together, by way of the
 * arena.
 */
const DIRECT_BYTES = 16 * 1024;

/** Strings up to this length are tried as ASCII in a loop: cheaper than the call to `utf8Write`. */
const LOOP_CHARACTERS = 10;

/** A UTF-16 code unit takes at most this many bytes of UTF-8. */
const CHARACTER_BYTES = 3;

/** Looked up once: V8 has no short way to a method through the prototype of Buffers. @type {(data: Uint8Array, start: number) => void} */
const setBytes = Uint8Array.prototype.set;

// The arena being filled.
/** @type {any} */
let arena = null;
let words = /** @type {Uint32Array} */ (new Uint32Array(0));
let used = 0;

/** All arenas, by number; the native part keeps this list for as long as the reactor runs. @type {any[]} */
let arenas = [];
/** @type {any} */
let native = null;
/** @type {() => void} */
let flushNative = () => {};
/** Writes a payload from where it is; null where the reactor is on another thread. @type {((data: Uint8Array) => void) | null} */
let flushWith = null;
let largeBytes = LARGE_BYTES;
/** Where both sides of a crossing say what there is to say. */
let said = /** @type {Uint32Array} */ (new Uint32Array(0));
// True when somebody will flush: a dispatch that is running, or a microtask.
let flushComing = false;

/**
 * @param {any} reactor The native reactor that takes the records
 * @param {Uint32Array} records The array that it was made with
 * @param {any[]} list The one of those that it was made with that is for arenas
 */
function attach(reactor, records, list) {
  native = reactor;
  arenas = list;
  flushNative = reactor.flush();
  flushWith = reactor.flushWith();
  if (flushWith !== null) largeBytes = DIRECT_BYTES;
  said = records;
  lendArena(native, arenas);
  fill(0);
}

/** @param {number} id Of the arena to be filled from now on */
function fill(id) {
  arena = arenas[id];
  words = arenaWords[id];
}

/**
 * Crosses with everything collected so far.
 *
 * @template T
 * @param {(data?: any) => T} call The native flush or drain
 * @param {Uint8Array} [data] Its argument
 * @returns {T} What it returned
 */
function cross(call, data) {
  const collected = used;
  used = 0;
  same.forget();
  said[FLUSHED_BYTES] = collected;
  try {
    return call(data);
  } finally {
    // Also when it threw: the arena may be the reactor's by now. With nothing to flush another one may have come back.
    const next = said[FLUSHED_NEXT];
    if (next !== 0) fill(next - 1);
    else if (collected !== 0) lendArena(native, arenas);
  }
}

/** Hands everything collected so far to the reactor. */
function flush() {
  if (used !== 0) cross(flushNative);
}

function flushInMicrotask() {
  flushComing = false;
  flush();
}

/** Until `endBatching` nobody schedules a flush: the caller promises one. */
function beginBatching() {
  flushComing = true;
}

function endBatching() {
  flushComing = false;
  flush();
}

/**
 * Makes room for a record and writes its header.
 *
 * @param {number} slot Slot of the connection
 * @param {number} generation Its generation
 * @param {number} tag kind | flags << 8 | aux << 16
 * @param {number} room Most bytes that the payload may take in the arena
 * @returns {number} Where the payload goes
 */
function begin(slot, generation, tag, room) {
  if (used + OUT_HEADER_BYTES + room > ARENA_BYTES) flush();
  if (!flushComing) {
    flushComing = true;
    queueMicrotask(flushInMicrotask);
  }
  const word = used >>> 2;
  words[word] = slot;
  words[word + 1] = generation;
  words[word + 2] = tag;
  return used + OUT_HEADER_BYTES;
}

/**
 * @param {number} start What `begin` returned
 * @param {number} length Bytes written there
 */
function finish(start, length) {
  words[(start >>> 2) - 1] = length;
  used = (start + length + 15) & ~15;
}

/**
 * A record without payload.
 *
 * @param {number} slot
 * @param {number} generation
 * @param {number} tag
 */
function pushEmpty(slot, generation, tag) {
  finish(begin(slot, generation, tag, 0), 0);
}

/** @returns {boolean} Whether the next record can refer to those before it: without a flush in between */
function canRefer() {
  return used + OUT_HEADER_BYTES <= ARENA_BYTES;
}

/**
 * A record with a payload that is in the arena.
 *
 * @param {number} slot
 * @param {number} generation
 * @param {number} tag
 * @param {number} payload Where it begins
 */
function pushSame(slot, generation, tag, payload) {
  const start = begin(slot, generation, tag | OUT_FLAG_SAME, 0);
  words[(start >>> 2) - 1] = payload;
  used = start;
}

/**
 * A record whose payload is bytes.
 *
 * @param {number} slot
 * @param {number} generation
 * @param {number} tag
 * @param {Uint8Array} data
 * @returns {number} Bytes of payload
 */
function pushBytes(slot, generation, tag, data) {
  let { length } = data;
  // V8 knows by now what `data` is, and spares itself this call.
  if (length !== lengthOf.call(data)) length = lengthOf.call(data);
  if (length >= same.SAME_BYTES) return pushLong(slot, generation, tag, data, length);
  const start = begin(slot, generation, tag, length);
  // Bytes whose ArrayBuffer was detached are none, and `set` throws for them.
  if (length !== 0) Reflect.apply(setBytes, arena, [data, start]);
  finish(start, length);
  return length;
}

/**
 * The same for bytes that others may be sent too.
 *
 * @param {number} slot
 * @param {number} generation
 * @param {number} tag
 * @param {Uint8Array} data
 * @param {number} length
 * @returns {number}
 */
function pushLong(slot, generation, tag, data, length) {
  if (length >= largeBytes) return pushLarge(slot, generation, tag, data);
  if (canRefer() && same.isLastBytes(data, length, arena)) {
    pushSame(slot, generation, tag, same.bytes.start);
    return length;
  }
  const start = begin(slot, generation, tag, length);
  Reflect.apply(setBytes, arena, [data, start]);
  finish(start, length);
  same.keepBytes(data, start, length);
  return length;
}

/**
 * A record whose payload is the UTF-8 of a string.
 *
 * @param {number} slot
 * @param {number} generation
 * @param {number} tag
 * @param {string} text
 * @returns {number} Bytes of payload
 */
function pushText(slot, generation, tag, text) {
  const characters = text.length;
  if (characters > LOOP_CHARACTERS) return pushLongText(slot, generation, tag, text, characters);
  const start = begin(slot, generation, tag, characters * CHARACTER_BYTES);
  let length = 0;
  for (; length < characters; length++) {
    const code = text.charCodeAt(length);
    if (code > 0x7f) break;
    arena[start + length] = code;
  }
  if (length < characters) length = arena.utf8Write(text, start, characters * CHARACTER_BYTES);
  finish(start, length);
  return length;
}

/**
 * The same for a string that others may be sent too.
 *
 * @param {number} slot
 * @param {number} generation
 * @param {number} tag
 * @param {string} text
 * @param {number} characters Its length
 * @returns {number}
 */
function pushLongText(slot, generation, tag, text, characters) {
  if (characters >= LARGE_BYTES) return pushLarge(slot, generation, tag, text);
  const isOther = slot !== same.text.slot;
  if (isOther && text === same.text.data && canRefer()) {
    pushSame(slot, generation, tag, same.text.start);
    return same.text.length;
  }
  const start = begin(slot, generation, tag, characters * CHARACTER_BYTES);
  const length = arena.utf8Write(text, start, characters * CHARACTER_BYTES);
  finish(start, length);
  if (isOther) same.keepText(text, slot, start, length);
  return length;
}

/**
 * A record whose payload goes to the reactor by itself.
 *
 * @param {number} slot
 * @param {number} generation
 * @param {number} tag
 * @param {Uint8Array | string} data
 * @returns {number}
 */
function pushLarge(slot, generation, tag, data) {
  // The record must be in the chunk that the next flush sends, after the payload was added to its list:
  // so room first, which may flush, then the payload.
  if (!canRefer()) flush();
  if (same.isLastLarge(native, tag, data)) {
    words[same.large.word] |= OUT_FLAG_SHARED;
    pushSame(slot, generation, tag | OUT_FLAG_LARGE, same.large.length);
    return same.large.length;
  }
  const bytes = typeof data === 'string' ? Buffer.from(data) : unshared(data);
  const length = lengthOf.call(bytes);
  if (flushWith === null) native.addLarge(bytes);
  const start = begin(slot, generation, tag | OUT_FLAG_LARGE, 0);
  finish(start, 0);
  words[(start >>> 2) - 1] = length;
  if (flushWith !== null) {
    cross(flushWith, bytes);
    return length;
  }
  // A copy is nothing that will be sent again.
  same.keepLarge(typeof data === 'string' ? data : bytes, length, tag, (start >>> 2) - 2);
  return length;
}

/**
 * Gives the reactor a message that any connection may be sent.
 *
 * @param {number} number What it is called from now on
 * @param {boolean} isText
 * @param {boolean} compress
 * @param {Uint8Array} data
 */
function addPrepared(number, isText, compress, data) {
  native.prepare(number, isText, compress, data);
}

/**
 * A record that sends such a message.
 *
 * @param {number} slot
 * @param {number} generation
 * @param {number} tag
 * @param {number} number
 * @returns {number} Bytes of payload
 */
function pushPrepared(slot, generation, tag, number) {
  const start = begin(slot, generation, tag, Uint32Array.BYTES_PER_ELEMENT);
  words[start >>> 2] = number;
  finish(start, Uint32Array.BYTES_PER_ELEMENT);
  return Uint32Array.BYTES_PER_ELEMENT;
}

/** @param {number} number Of a message that nobody will send again */
function forgetPrepared(number) {
  // Records that name it come first.
  flush();
  native.forget(number);
}

module.exports = {
  ARENA_BYTES,
  LARGE_BYTES,
  addPrepared,
  attach,
  beginBatching,
  cross,
  endBatching,
  flush,
  forgetPrepared,
  pushBytes,
  pushEmpty,
  pushPrepared,
  pushText,
};

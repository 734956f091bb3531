'use strict';

// What goes to the reactors: records with their payloads, collected in an arena until it is handed over.

const { FastBuffer } = require('../base/constants');
const { isViewOf, lengthOf, unshared } = require('../base/views');
const flows = require('./flows');
const {
  FLOWS_WAIT,
  FLUSHED_BYTES,
  FLUSHED_MIXED,
  FLUSHED_NEXT,
  KIND_MASK,
  OUT_ALIGN,
  OUT_BINARY,
  OUT_FLAG_FIN,
  OUT_FLAG_LARGE,
  OUT_FLAG_SAME,
  OUT_FLAG_SHARED,
  OUT_FLAG_WANT_SENT,
  OUT_HEADER_BYTES,
  PIPE_SLOTS,
} = require('../base/layout');

/** @import { Calls } from '../native/binding' */
/** @import { Native } from './table' */

/** Bytes of an arena. The answers to a full batch fit. */
const ARENA_BYTES = 320 * 1024;

/** Most arenas: one is filled here, the others are on their way. A reactor that has all others gets copies. */
const ARENAS = 4;

/** From this many bytes on a payload goes by itself, and not in the arena. */
const LARGE_BYTES = 64 * 1024;

/** The same where the reactor is on this thread, and writes payloads from where they are. */
const DIRECT_BYTES = 16 * 1024;

/** From this many bytes on, comparing bytes with those sent before costs less than copying them again. */
const SAME_BYTES = 4096;

/** Text of at most this length is tried as ASCII in a loop, which costs less than `utf8Write`. */
const LOOP_CHARACTERS = 10;

/** UTF-8 of a UTF-16 code unit, at most. */
const CHARACTER_BYTES = 3;

/** Looked up once: through Buffers V8 takes longer. @type {(data: Uint8Array, start: number) => void} */
const setBytes = Uint8Array.prototype.set;
const { compare } = Buffer;

/** A Buffer, whose `utf8Write` Node's types do not know. */
/** @typedef {Buffer & { utf8Write(text: string, start: number, length?: number): number }} Arena */

/** The arena that is filled, its words, and the bytes of it that are in use. */
let arena = /** @type {Arena} */ (Buffer.alloc(0));
let words = new Uint32Array(0);
let used = 0;
/** Some of its records are not for a socket. */
let isMixed = false;
/** A delivery, or a microtask, is going to flush. */
let flushComing = false;
/** The last record is the first one outside of a delivery. */
let isFirst = false;

/**
 * All arenas, by number. The native part keeps this list. Nothing else refers to an arena, so no code can detach it
 * while a reactor reads it.
 *
 * @type {Buffer[]}
 */
let arenas = [];
/**
 * Their words, not in that list: the native part would hold the global object of this copy of the package, if it had an
 * object of its realm.
 *
 * @type {Uint32Array<ArrayBuffer>[]}
 */
const arenaWords = [];

// The last payloads, until the next flush: a send of the same one to the next connection refers to them. Without this a
// plain loop over `clients` takes 1.19 times the CPU time with 16 KiB to each of 100 connections, and 1.26 times with
// 1 KiB of text to each of 1,000.

/** `payload`: the copy of the bytes in the arena; null before the two were compared. */
const lastBytes = {
  data: /** @type {Uint8Array | null} */ (null),
  payload: /** @type {Uint8Array | null} */ (null),
  start: 0,
  length: 0,
};

/** With its slot: one connection hardly ever gets the same text twice. */
const lastText = { data: '', slot: -1, start: 0, length: 0 };

/** `data` is the argument of `send()`, `word` the place of the tag in the arena. */
const lastLarge = { data: /** @type {Uint8Array | string | null} */ (null), length: 0, tag: 0, word: 0 };

let native = /** @type {Native} */ (/** @type {unknown} */ (null));
let calls = /** @type {Calls} */ (/** @type {unknown} */ (null));
/** The reactor of sockets is on this thread. */
let isOnThread = true;
/** Words that both sides write to. */
let said = new Uint32Array(0);

/** @type {(reactors: Native, functions: Calls, records: Uint32Array<ArrayBuffer>, list: Buffer[], blocks: Buffer[]) => void} */
function attach(reactors, functions, records, list, blocks) {
  native = reactors;
  calls = functions;
  said = records;
  arenas = list;
  lendArena();
  fill(0);
  flows.attach(native, calls.pour, records, blocks);
  started();
}

/** The reactors of sockets have been started, or not yet. */
function started() {
  isOnThread = native.links === 1;
}

/** @param {number} id Number of the arena to be filled from now on */
function fill(id) {
  arena = /** @type {Arena} */ (arenas[id]);
  words = arenaWords[id];
}

/** Lends one more arena, if there may be. */
function lendArena() {
  if (arenas.length === ARENAS) return;
  const memory = Buffer.allocUnsafeSlow(ARENA_BYTES);
  const id = arenas.push(memory) - 1;
  arenaWords.push(new Uint32Array(memory.buffer));
  native.lendArena(id, memory);
}

/**
 * Appends a record with a payload: text, bytes, or the number of a prepared message. Returns the bytes of the payload.
 * `tag` is kind | flags << 8 | aux << 16.
 *
 * @type {(slot: number, generation: number, tag: number, data: string | Uint8Array | number) => number}
 */
function push(slot, generation, tag, data) {
  if (typeof data === 'string') return pushText(slot, generation, tag, data);
  if (typeof data !== 'number') return pushBytes(slot, generation, tag, data);
  const start = begin(slot, generation, tag, Uint32Array.BYTES_PER_ELEMENT);
  words[start >>> 2] = data;
  finish(start, Uint32Array.BYTES_PER_ELEMENT);
  return Uint32Array.BYTES_PER_ELEMENT;
}

/** @type {(slot: number, generation: number, tag: number, text: string) => number} */
function pushText(slot, generation, tag, text) {
  const characters = text.length;
  if (characters <= LOOP_CHARACTERS) {
    const start = begin(slot, generation, tag, characters * CHARACTER_BYTES);
    const length = writeShort(text, start);
    finish(start, length);
    return length;
  }
  if (characters >= LARGE_BYTES) return pushLarge(slot, generation, tag, text);
  const isOther = slot !== lastText.slot;
  if (isOther && text === lastText.data && canRefer()) {
    pushSame(slot, generation, tag, lastText.start);
    return lastText.length;
  }
  const start = begin(slot, generation, tag, characters * CHARACTER_BYTES);
  const length = arena.utf8Write(text, start, characters * CHARACTER_BYTES);
  finish(start, length);
  if (isOther) {
    lastText.data = text;
    lastText.slot = slot;
    lastText.start = start;
    lastText.length = length;
  }
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

/** @type {(slot: number, generation: number, tag: number, data: Uint8Array) => number} */
function pushBytes(slot, generation, tag, data) {
  let { length } = data;
  // V8 knows the type of `data` by now and removes this call.
  if (length !== lengthOf.call(data)) length = lengthOf.call(data);
  if (length >= SAME_BYTES) return pushLong(slot, generation, tag, data, length);
  const start = begin(slot, generation, tag, length);
  // A view whose ArrayBuffer was detached has no bytes, and `set` throws for it.
  if (length !== 0) Reflect.apply(setBytes, arena, [data, start]);
  finish(start, length);
  return length;
}

/** Bytes that other connections may be sent too. @type {(slot: number, generation: number, tag: number, data: Uint8Array, length: number) => number} */
function pushLong(slot, generation, tag, data, length) {
  if (length >= (isInline() ? DIRECT_BYTES : LARGE_BYTES)) return pushLarge(slot, generation, tag, data);
  if (canRefer() && isLastBytes(data, length)) {
    pushSame(slot, generation, tag, lastBytes.start);
    return length;
  }
  const start = begin(slot, generation, tag, length);
  Reflect.apply(setBytes, arena, [data, start]);
  finish(start, length);
  lastBytes.data = data;
  lastBytes.payload = null;
  lastBytes.start = start;
  lastBytes.length = length;
  return length;
}

/** A payload that goes to the reactor by itself. @type {(slot: number, generation: number, tag: number, data: Uint8Array | string) => number} */
function pushLarge(slot, generation, tag, data) {
  // One flush must have both the record and the payload, so room is made first.
  if (!canRefer()) flush();
  if (isLastLarge(tag, data)) {
    words[lastLarge.word] |= OUT_FLAG_SHARED;
    pushSame(slot, generation, tag | OUT_FLAG_LARGE, lastLarge.length);
    return lastLarge.length;
  }
  const bytes = typeof data === 'string' ? Buffer.from(data) : unshared(data);
  const length = lengthOf.call(bytes);
  if (!isInline()) native.addLarge(bytes);
  const start = begin(slot, generation, tag | OUT_FLAG_LARGE, 0);
  finish(start, 0);
  words[(start >>> 2) - 1] = length;
  if (isInline()) {
    // Written from where it is.
    exchange(calls.flushWith, bytes);
    return length;
  }
  // Only whole messages are shared. The bytes of a string are a copy, which is not sent again; the string may be.
  lastLarge.data = (tag & KIND_MASK) <= OUT_BINARY && (tag & OUT_FLAG_FIN) !== 0 ? (typeof data === 'string' ? data : bytes) : null;
  lastLarge.length = length;
  lastLarge.tag = tag;
  lastLarge.word = (start >>> 2) - 2;
  return length;
}

/** A record without payload. @type {(slot: number, generation: number, tag: number) => void} */
function pushEmpty(slot, generation, tag) {
  finish(begin(slot, generation, tag, 0), 0);
}

/** A record whose payload is a few words. @type {(slot: number, generation: number, tag: number, payload: number[]) => void} */
function pushWords(slot, generation, tag, payload) {
  const length = payload.length * Uint32Array.BYTES_PER_ELEMENT;
  const start = begin(slot, generation, tag, length);
  words.set(payload, start >>> 2);
  finish(start, length);
}

/** A record whose payload an earlier one has, at this offset. @type {(slot: number, generation: number, tag: number, payload: number) => void} */
function pushSame(slot, generation, tag, payload) {
  const start = begin(slot, generation, tag | OUT_FLAG_SAME, 0);
  words[(start >>> 2) - 1] = payload;
  used = start;
}

/** Whether the next record can refer to earlier ones: there is no flush in between. */
function canRefer() {
  return used + OUT_HEADER_BYTES <= ARENA_BYTES;
}

/** Whether the bytes were sent last, and have not changed. @type {(data: Uint8Array, length: number) => boolean} */
function isLastBytes(data, length) {
  if (data !== lastBytes.data || length !== lastBytes.length) return false;
  const payload = (lastBytes.payload ??= new FastBuffer(arena.buffer, lastBytes.start, length));
  return compare(/** @type {Uint8Array} */ (payload), data) === 0;
}

/** The same for a payload that went by itself, and its tag. @type {(tag: number, data: Uint8Array | string) => boolean} */
function isLastLarge(tag, data) {
  if (data !== lastLarge.data || ((tag ^ lastLarge.tag) & ~OUT_FLAG_WANT_SENT) !== 0) return false;
  return typeof data === 'string' || (lengthOf.call(data) === lastLarge.length && native.isLastLarge(data));
}

/**
 * The view by which this memory was sent last. Data that is no Uint8Array is sent by way of one, and recognized by the
 * same one.
 *
 * @type {(buffer: ArrayBufferLike, offset: number, length: number) => Uint8Array | null}
 */
function lastViewOf(buffer, offset, length) {
  if (length < SAME_BYTES) return null;
  for (const { data } of [lastBytes, lastLarge]) {
    if (data !== null && typeof data !== 'string' && isViewOf(data, buffer, offset, length)) return data;
  }
  return null;
}

/**
 * Makes room for a record, of which the payload may take so many bytes of the arena, and writes its header. Returns
 * the offset for the payload.
 *
 * @type {(slot: number, generation: number, tag: number, room: number) => number}
 */
function begin(slot, generation, tag, room) {
  if (used + OUT_HEADER_BYTES + room > ARENA_BYTES) flush();
  isFirst = !flushComing;
  if (isFirst) {
    flushComing = true;
    queueMicrotask(endBatching);
  }
  if (slot >= PIPE_SLOTS) isMixed = true;
  const word = used >>> 2;
  words[word] = slot;
  words[word + 1] = generation;
  words[word + 2] = tag;
  return used + OUT_HEADER_BYTES;
}

/** The payload has been written. @type {(start: number, length: number) => void} */
function finish(start, length) {
  words[(start >>> 2) - 1] = length;
  used = (start + length + OUT_ALIGN - 1) & -OUT_ALIGN;
}

/**
 * The first record outside of a delivery does not wait for others: what its caller does next, such as to end a response,
 * may be seen by the same peer.
 */
function handOver() {
  if (isFirst) flush();
}

/** Until `endBatching` no flush is scheduled: the caller promises one. */
function beginBatching() {
  flushComing = true;
}

function endBatching() {
  flushComing = false;
  flush();
}

/** Whether the reactor of sockets is on this thread, so that large payloads are written from where they are. */
function isInline() {
  return isOnThread;
}

/** Hands over the collected records. */
function flush() {
  if (used !== 0) exchange(calls.flush);
}

/** Sends something to a stream, at once. What the stream throws is thrown, as in ws. @type {(send: () => void) => void} */
function sendNow(send) {
  flows.throwing(() => {
    send();
    flush();
  });
}

/**
 * One crossing: hands over the collected records, and takes the results of a native function.
 *
 * @template T
 * @param {(payload: Uint8Array) => T} call
 * @param {Uint8Array} [payload] Its argument
 * @returns {T}
 */
function exchange(call, payload) {
  const collected = used;
  used = 0;
  lastBytes.data = lastBytes.payload = lastLarge.data = null;
  lastText.data = '';
  lastText.slot = -1;
  said[FLUSHED_BYTES] = collected;
  if (isMixed) {
    isMixed = false;
    said[FLUSHED_MIXED] = 1;
  }
  try {
    return call(/** @type {Uint8Array} */ (payload));
  } finally {
    // Also when the call threw: the reactor may have the arena by now.
    const next = said[FLUSHED_NEXT];
    if (next !== 0) fill(next - 1);
    else if (collected !== 0) lendArena();
    if (said[FLOWS_WAIT] !== 0) flows.act();
  }
}

/** Gives the reactors a copy of a message that any connection may be sent. @type {(number: number, isText: boolean, compress: boolean, data: Uint8Array) => void} */
function addPrepared(number, isText, compress, data) {
  native.prepare(number, isText, compress, data);
}

/** @param {number} number Number of a message that will not be sent again */
function forgetPrepared(number) {
  // Records that name the message come first.
  flush();
  native.forget(number);
}

module.exports = {
  SAME_BYTES,
  addPrepared,
  attach,
  beginBatching,
  endBatching,
  exchange,
  flush,
  forgetPrepared,
  handOver,
  isInline,
  lastViewOf,
  push,
  pushEmpty,
  pushWords,
  sendNow,
  started,
};

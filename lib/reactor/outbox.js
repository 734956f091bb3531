'use strict';

const { ARENA_BYTES, flush, flushWith, isInline, outgoing } = require('./crossing');
const lastSent = require('./last-sent');
const { lengthOf, unshared } = require('../views');
const { OUT_ALIGN, OUT_FLAG_LARGE, OUT_FLAG_SAME, OUT_FLAG_SHARED, OUT_HEADER_BYTES } = require('./layout');

/** @import { Native } from './table' */

/** Payloads of this many bytes and more go to the reactor by themselves, and not in the arena. */
const LARGE_BYTES = 64 * 1024;

/**
 * The same limit where the reactor is on this thread and writes payloads from where they are.
 * Shorter ones cost less together, in the arena.
 */
const DIRECT_BYTES = 16 * 1024;

/**
 * Strings of at most this length are tried as ASCII in a loop, which costs less than `utf8Write`.
 */
const LOOP_CHARACTERS = 10;

/** A UTF-16 code unit takes at most this many bytes of UTF-8. */
const CHARACTER_BYTES = 3;

/**
 * Looked up once: through the prototype of Buffers V8 takes longer.
 *
 * @type {(data: Uint8Array, start: number) => void}
 */
const setBytes = Uint8Array.prototype.set;

/**
 * Appends a record with a payload.
 *
 * @template T
 * @callback Push
 * @param {number} slot Slot of the connection in the table
 * @param {number} generation Generation of the connection
 * @param {number} tag kind | flags << 8 | aux << 16
 * @param {T} payload The payload of the record
 * @returns {number} Bytes of payload
 */

let native = /** @type {Native} */ (/** @type {unknown} */ (null));
let largeBytes = LARGE_BYTES;
/** Whether a dispatch that is running, or a microtask, is going to flush. */
let flushComing = false;
/** Whether the last record is the first one outside of a delivery. */
let isFirst = false;

/** @param {Native} reactors The native reactors, which take the records */
function attach(reactors) {
  native = reactors;
  if (isInline()) largeBytes = DIRECT_BYTES;
}

/**
 * The last record is whole. The first one outside of a delivery does not wait for others: what its
 * caller does next, such as to end a response, may be seen by the same peer.
 */
function handOver() {
  if (isFirst) flush();
}

function flushInMicrotask() {
  flushComing = false;
  flush();
}

/** Until `endBatching` no flush is scheduled: the caller promises one. */
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
 * @param {number} generation Generation of the connection
 * @param {number} tag kind | flags << 8 | aux << 16
 * @param {number} room Most bytes that the payload may take in the arena
 * @returns {number} Offset for the payload in the arena
 */
function begin(slot, generation, tag, room) {
  if (outgoing.used + OUT_HEADER_BYTES + room > ARENA_BYTES) flush();
  isFirst = !flushComing;
  if (isFirst) {
    flushComing = true;
    queueMicrotask(flushInMicrotask);
  }
  const { used, words } = outgoing;
  const word = used >>> 2;
  words[word] = slot;
  words[word + 1] = generation;
  words[word + 2] = tag;
  return used + OUT_HEADER_BYTES;
}

/**
 * @param {number} start The result of `begin`
 * @param {number} length Bytes written there
 */
function finish(start, length) {
  outgoing.words[(start >>> 2) - 1] = length;
  outgoing.used = (start + length + OUT_ALIGN - 1) & -OUT_ALIGN;
}

/**
 * A record without payload.
 *
 * @param {number} slot Slot of the connection in the table
 * @param {number} generation Generation of the connection
 * @param {number} tag kind | flags << 8 | aux << 16
 */
function pushEmpty(slot, generation, tag) {
  finish(begin(slot, generation, tag, 0), 0);
}

/**
 * A record whose payload is words.
 *
 * @param {number} slot Slot of the connection in the table
 * @param {number} generation Generation of the connection
 * @param {number} tag kind | flags << 8 | aux << 16
 * @param {number[]} payload The words, of which there are few
 */
function pushWords(slot, generation, tag, payload) {
  const length = payload.length * Uint32Array.BYTES_PER_ELEMENT;
  const start = begin(slot, generation, tag, length);
  outgoing.words.set(payload, start >>> 2);
  finish(start, length);
}

/**
 * @returns {boolean} Whether the next record can refer to earlier ones: there is no flush in
 *   between
 */
function canRefer() {
  return outgoing.used + OUT_HEADER_BYTES <= ARENA_BYTES;
}

/**
 * A record with a payload that is in the arena.
 *
 * @param {number} slot Slot of the connection in the table
 * @param {number} generation Generation of the connection
 * @param {number} tag kind | flags << 8 | aux << 16
 * @param {number} payload Offset of the payload
 */
function pushSame(slot, generation, tag, payload) {
  const start = begin(slot, generation, tag | OUT_FLAG_SAME, 0);
  outgoing.words[(start >>> 2) - 1] = payload;
  outgoing.used = start;
}

/** A record whose payload is bytes. @type {Push<Uint8Array>} */
function pushBytes(slot, generation, tag, data) {
  let { length } = data;
  // V8 knows the type of `data` by now and removes this call.
  if (length !== lengthOf.call(data)) length = lengthOf.call(data);
  if (length >= lastSent.SAME_BYTES) return pushLong(slot, generation, tag, data, length);
  const start = begin(slot, generation, tag, length);
  // A view whose ArrayBuffer was detached has no bytes, and `set` throws for it.
  if (length !== 0) Reflect.apply(setBytes, outgoing.arena, [data, start]);
  finish(start, length);
  return length;
}

/**
 * The same for bytes that other connections may be sent too.
 *
 * @param {number} slot As of `Push`
 * @param {number} generation As of `Push`
 * @param {number} tag As of `Push`
 * @param {Uint8Array} data The payload, of SAME_BYTES bytes and more
 * @param {number} length Bytes of payload
 * @returns {number} Bytes of payload
 */
function pushLong(slot, generation, tag, data, length) {
  if (length >= largeBytes) return pushLarge(slot, generation, tag, data);
  if (canRefer() && lastSent.isLastBytes(data, length, outgoing.arena)) {
    pushSame(slot, generation, tag, lastSent.bytes.start);
    return length;
  }
  const start = begin(slot, generation, tag, length);
  Reflect.apply(setBytes, outgoing.arena, [data, start]);
  finish(start, length);
  lastSent.keepBytes(data, start, length);
  return length;
}

/** A record whose payload is the UTF-8 of a string. @type {Push<string>} */
function pushText(slot, generation, tag, text) {
  const characters = text.length;
  if (characters > LOOP_CHARACTERS) return pushLongText(slot, generation, tag, text, characters);
  const start = begin(slot, generation, tag, characters * CHARACTER_BYTES);
  const { arena } = outgoing;
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
 * The same for a string that other connections may be sent too.
 *
 * @param {number} slot As of `Push`
 * @param {number} generation As of `Push`
 * @param {number} tag As of `Push`
 * @param {string} text The payload
 * @param {number} characters Its length
 * @returns {number} Bytes of payload
 */
function pushLongText(slot, generation, tag, text, characters) {
  if (characters >= LARGE_BYTES) return pushLarge(slot, generation, tag, text);
  const isOther = slot !== lastSent.text.slot;
  if (isOther && text === lastSent.text.data && canRefer()) {
    pushSame(slot, generation, tag, lastSent.text.start);
    return lastSent.text.length;
  }
  const start = begin(slot, generation, tag, characters * CHARACTER_BYTES);
  const length = outgoing.arena.utf8Write(text, start, characters * CHARACTER_BYTES);
  finish(start, length);
  if (isOther) lastSent.keepText(text, slot, start, length);
  return length;
}

/** A record whose payload goes to the reactor by itself. @type {Push<Uint8Array | string>} */
function pushLarge(slot, generation, tag, data) {
  // The next flush must have both the record and, in its list, the payload. So room is made first,
  // which may flush, and the payload is added then.
  if (!canRefer()) flush();
  if (lastSent.isLastLarge(native, tag, data)) {
    outgoing.words[lastSent.large.word] |= OUT_FLAG_SHARED;
    pushSame(slot, generation, tag | OUT_FLAG_LARGE, lastSent.large.length);
    return lastSent.large.length;
  }
  const bytes = typeof data === 'string' ? Buffer.from(data) : unshared(data);
  const length = lengthOf.call(bytes);
  if (!isInline()) native.addLarge(bytes);
  const start = begin(slot, generation, tag | OUT_FLAG_LARGE, 0);
  finish(start, 0);
  outgoing.words[(start >>> 2) - 1] = length;
  if (isInline()) {
    flushWith(bytes);
    return length;
  }
  // The bytes of a string are a copy, which is not sent again; the string itself may be.
  lastSent.keepLarge(typeof data === 'string' ? data : bytes, length, tag, (start >>> 2) - 2);
  return length;
}

/**
 * Gives the reactor a message that any connection may be sent.
 *
 * @param {number} number The number by which records refer to it
 * @param {boolean} isText Whether it is text; else it is binary
 * @param {boolean} compress Whether it is compressed where permessage-deflate was negotiated
 * @param {Uint8Array} data The payload, which is copied
 */
function addPrepared(number, isText, compress, data) {
  native.prepare(number, isText, compress, data);
}

/** A record that sends such a message: the payload is its number. @type {Push<number>} */
function pushPrepared(slot, generation, tag, number) {
  const start = begin(slot, generation, tag, Uint32Array.BYTES_PER_ELEMENT);
  outgoing.words[start >>> 2] = number;
  finish(start, Uint32Array.BYTES_PER_ELEMENT);
  return Uint32Array.BYTES_PER_ELEMENT;
}

/** @param {number} number Number of a message that will not be sent again */
function forgetPrepared(number) {
  // Records that name the message come first.
  flush();
  native.forget(number);
}

module.exports = {
  addPrepared,
  attach,
  beginBatching,
  endBatching,
  flush,
  forgetPrepared,
  handOver,
  pushBytes,
  pushEmpty,
  pushPrepared,
  pushText,
  pushWords,
};

'use strict';

const { ARENA_BYTES, flush, flushWith, isInline, outgoing } = require('./crossing');
const same = require('./same');
const { lengthOf, unshared } = require('../views');
const { OUT_ALIGN, OUT_FLAG_LARGE, OUT_FLAG_SAME, OUT_FLAG_SHARED, OUT_HEADER_BYTES } = require('./layout');

/**
 * Payloads of this many bytes and more go to the reactor by themselves instead of through the
 * arena.
 */
const LARGE_BYTES = 64 * 1024;

/**
 * The same where the reactor is on this thread: it writes them from where they are. Shorter ones
 * cost less together, by way of the arena.
 */
const DIRECT_BYTES = 16 * 1024;

/** Strings up to this length are tried as ASCII in a loop: cheaper than the call to `utf8Write`. */
const LOOP_CHARACTERS = 10;

/** A UTF-16 code unit takes at most this many bytes of UTF-8. */
const CHARACTER_BYTES = 3;

/**
 * Looked up once: V8 has no short way to a method through the prototype of Buffers.
 *
 * @type {(data: Uint8Array, start: number) => void}
 */
const setBytes = Uint8Array.prototype.set;

/** @type {any} */
let native = null;
let largeBytes = LARGE_BYTES;
// True when somebody will flush: a dispatch that is running, or a microtask.
let flushComing = false;
/** Whether the last record is the first one outside of a delivery. */
let isFirst = false;

/** @param {any} reactors The native reactors, which take the records */
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
 * @param {number} start What `begin` returned
 * @param {number} length Bytes written there
 */
function finish(start, length) {
  outgoing.words[(start >>> 2) - 1] = length;
  outgoing.used = (start + length + OUT_ALIGN - 1) & -OUT_ALIGN;
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

/**
 * @returns {boolean} Whether the next record can refer to those before it: without a flush in
 * between
 */
function canRefer() {
  return outgoing.used + OUT_HEADER_BYTES <= ARENA_BYTES;
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
  outgoing.words[(start >>> 2) - 1] = payload;
  outgoing.used = start;
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
  if (length !== 0) Reflect.apply(setBytes, outgoing.arena, [data, start]);
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
  if (canRefer() && same.isLastBytes(data, length, outgoing.arena)) {
    pushSame(slot, generation, tag, same.bytes.start);
    return length;
  }
  const start = begin(slot, generation, tag, length);
  Reflect.apply(setBytes, outgoing.arena, [data, start]);
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
  const length = outgoing.arena.utf8Write(text, start, characters * CHARACTER_BYTES);
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
  // The record must be in the chunk that the next flush sends, after the payload was added to its
  // list: so room first, which may flush, then the payload.
  if (!canRefer()) flush();
  if (same.isLastLarge(native, tag, data)) {
    outgoing.words[same.large.word] |= OUT_FLAG_SHARED;
    pushSame(slot, generation, tag | OUT_FLAG_LARGE, same.large.length);
    return same.large.length;
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
  outgoing.words[start >>> 2] = number;
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
};

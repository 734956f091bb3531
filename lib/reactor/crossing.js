'use strict';

// The calls to the native reactors that every turn makes. `src/binding/crossing.rs` is the other
// end. Arguments and results are words behind the records of the array that both sides know: as
// arguments of a call they would cost more than the call.

const {
  ASKED_GENERATION,
  ASKED_SLOT,
  DELIVERED_RECORDS,
  DRAINED_BYTES,
  DRAINED_HANDED,
  DRAINED_LENT,
  DRAINED_TURN,
  FLUSHED_BYTES,
  FLUSHED_NEXT,
  LENT_ID,
} = require('./layout');
const lastSent = require('./last-sent');

/** @import { Native } from './table' */

/**
 * Bytes of an arena, in which the records of one flush are collected. The answers to a full batch
 * fit.
 */
const ARENA_BYTES = 320 * 1024;

/**
 * Most arenas: one is filled here, the others are on their way. A reactor that has all others gets
 * copies.
 */
const ARENAS = 4;

/** @typedef {Buffer & { utf8Write(text: string, start: number, length?: number): number }} Arena */

/** Outbound records, which go with the next exchange. */
const outgoing = {
  /**
   * The arena that they are in. A Buffer, whose `utf8Write` Node's types do not know.
   *
   * @type {Arena}
   */
  arena: /** @type {Arena} */ (Buffer.alloc(0)),
  /** Its words. @type {Uint32Array} */
  words: new Uint32Array(0),
  /** Bytes of the arena that they take. */
  used: 0,
};

/** The batch of the last exchange. */
const incoming = {
  /** The array of its records. */
  records: new Uint32Array(0),
  /** The number of records; with 0 nothing waited, and the fields below have no meaning. */
  count: 0,
  /** Bytes of their payloads. */
  bytes: 0,
  /**
   * The number of the lent memory with the payloads; -1: they are in the reactor's own memory, and
   * more should be lent.
   */
  lent: -1,
  /** Whether that memory comes back for good, and not only until the next exchange. */
  isHanded: false,
  /** Number of the event loop's turn that it is delivered in. */
  turn: 0,
  /**
   * How often JavaScript has let something go ahead of what had come before it, apart from those
   * times that the native part counts.
   */
  unsettled: 0,
};

/**
 * All arenas, by number. The native part keeps this list for as long as the reactors run. Nothing
 * else refers to an arena, so no code can look at it or detach it while a reactor reads it.
 *
 * @type {Buffer[]}
 */
let arenas = [];
/**
 * Their words. They are not in the list of arenas: the native part holds that list, and would hold
 * the global object of this copy of the package, if the list had an object of its realm.
 *
 * @type {Uint32Array[]}
 */
const arenaWords = [];

/** The array of records. Behind those are the words that both sides write to. */
let said = incoming.records;
/** @type {Native} */
let native;
/** The native functions with these names. */
let flushNative = () => {};
/** Null where the reactor is on another thread. @type {((payload: Uint8Array) => void) | null} */
let flushWithNative = null;
let drainNative = () => 0;
let deliverNative = () => {};
let lendNative = (/** @type {Buffer} */ _memory) => {};
let settledNative = () => Infinity;
let settleNative = () => false;
let loopTurnNative = () => 0;
let callNextNative = () => false;

/**
 * @param {Native} reactors The native reactors
 * @param {Uint32Array<ArrayBuffer>} records The array that they were made with
 * @param {Buffer[]} list The list for arenas that they were made with
 */
function attach(reactors, records, list) {
  native = reactors;
  incoming.records = said = records;
  arenas = list;
  flushNative = native.flush();
  flushWithNative = native.flushWith();
  drainNative = native.drain();
  deliverNative = native.deliver();
  lendNative = native.lend();
  settledNative = native.bytesSettled();
  settleNative = native.settle();
  loopTurnNative = native.loopTurn();
  callNextNative = native.callNext();
  lendArena();
  fill(0);
}

/** @param {number} id Number of the arena to be filled from now on */
function fill(id) {
  outgoing.arena = /** @type {Arena} */ (arenas[id]);
  outgoing.words = arenaWords[id];
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
 * One crossing: hands over the collected records, and takes the results of the call.
 *
 * @template T
 * @param {(payload: Uint8Array) => T} call A native function
 * @param {Uint8Array} [payload] Its argument
 * @returns {T} What it returned
 */
function exchange(call, payload) {
  const collected = outgoing.used;
  outgoing.used = 0;
  lastSent.forget();
  said[FLUSHED_BYTES] = collected;
  try {
    return call(/** @type {Uint8Array} */ (payload));
  } finally {
    // Also when the call threw: the reactor may have the arena by now. Without records to flush,
    // another arena may have come back.
    const next = said[FLUSHED_NEXT];
    if (next !== 0) fill(next - 1);
    else if (collected !== 0) lendArena();
  }
}

/** Hands over the collected records. */
function flush() {
  if (outgoing.used !== 0) exchange(flushNative);
}

/** @returns {boolean} Whether the reactor is on this thread, so that `flushWith` has an effect */
function isInline() {
  return flushWithNative !== null;
}

/**
 * Hands over the collected records. The payload of the last one is written from where it
 * is.
 *
 * @param {Uint8Array} payload The payload of the last record, of 16 KiB and more
 */
function flushWith(payload) {
  if (flushWithNative !== null) exchange(flushWithNative, payload);
}

/**
 * Hands over the collected records, gives the last batch back, and takes the oldest one
 * that waits, into `incoming`.
 *
 * @returns {boolean} False: nothing waits
 */
function drain() {
  const count = (incoming.count = exchange(drainNative));
  if (count === 0) return false;
  incoming.bytes = said[DRAINED_BYTES];
  incoming.lent = said[DRAINED_LENT] - 1;
  incoming.isHanded = said[DRAINED_HANDED] !== 0;
  incoming.turn = said[DRAINED_TURN];
  return true;
}

/**
 * The first records of the last batch have been delivered, the others come in a later turn of the
 * event loop.
 *
 * @param {number} count The number of records delivered
 */
function delivered(count) {
  said[DELIVERED_RECORDS] = count;
  deliverNative();
}

/**
 * Makes the reactors hand over the bytes that their sockets have by now.
 *
 * @returns {boolean} Whether `drain` would bring a batch
 */
function settle() {
  return settleNative();
}

/**
 * @returns {number} Number of the event loop's turn. It changes between the time when the loop
 *   reads sockets and the time when it calls what was given to `setImmediate`
 */
function loopTurn() {
  return loopTurnNative();
}

/**
 * Schedules `wake` for the event loop's next turn, before that reads any socket.
 *
 * @returns {boolean} False if there is no way to do that
 */
function callNext() {
  return callNextNative();
}

/**
 * Lends memory for batches to the reactor that the last one came from.
 *
 * @param {number} id Number of the memory
 * @param {Buffer} memory Memory that no other code can look at or detach
 */
function lend(id, memory) {
  said[LENT_ID] = id;
  lendNative(memory);
}

/**
 * The number of bytes of a connection's sends that the kernel has, minus bytes of its topics that
 * wait: those are in no count here.
 *
 * @param {{ _slot: number, _generation: number }} connection A WebSocket, or its handshake
 * @returns {number} Infinity when the connection is gone
 */
function bytesSettled({ _slot, _generation }) {
  said[ASKED_SLOT] = _slot;
  said[ASKED_GENERATION] = _generation;
  return settledNative();
}

module.exports = {
  ARENA_BYTES,
  attach,
  bytesSettled,
  callNext,
  delivered,
  drain,
  flush,
  flushWith,
  incoming,
  isInline,
  lend,
  loopTurn,
  outgoing,
  settle,
};

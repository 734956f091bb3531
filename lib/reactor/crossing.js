'use strict';

// The calls to the native reactors that every turn makes; `src/binding/crossing.rs` is the other end. Arguments and
// results are words after the records of an array that both sides know: as arguments they would cost more than the call.

const {
  ASKED_GENERATION,
  ASKED_SLOT,
  DELIVERED_RECORDS,
  DRAINED_STREAMS,
  LENT_ID,
  PUMPED,
  STREAMS_WAIT,
} = require('../base/layout');
const { act } = require('./flows');
const { state } = require('./link');
const { exchange } = require('./outbox');

/** A connection, or its handshake. @typedef {{ _slot: number, _generation: number }} Place */

/** Whether records of streams wait. */
function streamsWait() {
  return (state.words[STREAMS_WAIT] & 1) !== 0;
}

/** Whether they wait, or their reactor waits until those before are dealt with. */
function isAwaited() {
  return state.words[STREAMS_WAIT] !== 0;
}

/**
 * Hands over the collected records, gives the last batch back, and takes the oldest one that waits. Returns the number
 * of its records, which are in `words`; `DRAINED_` words have the rest.
 *
 * @type {(streamsOnly: boolean) => number}
 */
function drain(streamsOnly) {
  state.words[DRAINED_STREAMS] = streamsOnly ? 1 : 0;
  return exchange(state.calls.drain);
}

/** The others of the last batch come in a later turn of the event loop. @param {number} count Records that have been delivered */
function delivered(count) {
  state.words[DELIVERED_RECORDS] = count;
  state.calls.deliver();
}

/** Lends memory for batches to the reactor that the last one came from. @type {(id: number, memory: Buffer) => void} */
function lend(id, memory) {
  state.words[LENT_ID] = id;
  state.calls.lend(memory);
}

/** The next call is about this connection. @param {Place} connection */
function ask({ _slot, _generation }) {
  state.words[ASKED_SLOT] = _slot;
  state.words[ASKED_GENERATION] = _generation;
}

/**
 * The number of bytes of a connection's sends that the kernel has, minus bytes of its topics that
 * wait: those are in no count here.
 *
 * @type {(connection: Place) => number}
 */
function bytesSettled(connection) {
  ask(connection);
  return state.calls.bytesSettled();
}

/**
 * A chunk has come from the stream of a connection. With `mayStay` its bytes may be read where they are: then `PUMPED` is
 * 1 + the number of their records, which have offsets in the chunk. Else they are copied. Returns false if the stream is
 * not to be read before it is told so. The caller calls `act`.
 *
 * @type {(connection: Place, chunk: Uint8Array, mayStay: boolean) => boolean}
 */
function pump(connection, chunk, mayStay) {
  ask(connection);
  state.words[PUMPED] = mayStay ? 1 : 0;
  return state.calls.pump(chunk);
}

/** Something else has happened to that stream. @type {(connection: Place, event: number) => void} */
function streamEvent(connection, event) {
  ask(connection);
  state.calls.streamEvent(event);
  act();
}

module.exports = { bytesSettled, delivered, drain, isAwaited, lend, pump, streamEvent, streamsWait };

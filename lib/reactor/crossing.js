'use strict';

// The calls to the native reactors that every turn makes; `src/binding/crossing.rs` is the other end. Arguments and
// results are words after the records of an array that both sides know: as arguments they would cost more than the call.

const {
  ASKED_GENERATION,
  ASKED_SLOT,
  DELIVERED_RECORDS,
  DRAINED_BYTES,
  DRAINED_HANDED,
  DRAINED_LENT,
  DRAINED_STREAMS,
  DRAINED_TURN,
  FLOWS_WAIT,
  LENT_ID,
  PUMPED,
  STREAMS_WAIT,
} = require('../base/layout');
const flows = require('./flows');
const { exchange } = require('./outbox');

/** @import { Calls } from '../native/binding' */

/** The batch of the last exchange. */
const incoming = {
  records: new Uint32Array(0),
  /** Records; with 0 the fields below have no meaning. */
  count: 0,
  /** Bytes of their payloads. */
  bytes: 0,
  /** The lent memory with the payloads; -1: the reactor's own, and more should be lent. */
  lent: -1,
  /** That memory comes back for good, and not only until the next exchange. */
  isHanded: false,
  /** The event loop's turn that it is delivered in. */
  turn: 0,
  /** How often a connection has opened before an end that had come before. */
  unsettled: 0,
};

/** The same array, for the words that both sides write to. */
let said = incoming.records;
/** As long as there are no reactors, these few. */
let calls = /** @type {Calls} */ ({ bytesSettled: () => Infinity, callNext: () => false, loopTurn: () => 0 });

/** @type {(functions: Calls, records: Uint32Array<ArrayBuffer>) => void} */
function attach(functions, records) {
  incoming.records = said = records;
  calls = functions;
}

/** Whether records of streams wait. */
function streamsWait() {
  return (said[STREAMS_WAIT] & 1) !== 0;
}

/** Whether they wait, or their reactor waits until those before are dealt with. */
function isAwaited() {
  return said[STREAMS_WAIT] !== 0;
}

/**
 * Hands over the collected records, gives the last batch back, and takes the oldest one that waits, into `incoming`.
 * Returns false if nothing waits.
 *
 * @type {(streamsOnly: boolean) => boolean}
 */
function drain(streamsOnly) {
  said[DRAINED_STREAMS] = streamsOnly ? 1 : 0;
  const count = (incoming.count = exchange(calls.drain));
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
 * @type {(count: number) => void}
 */
function delivered(count) {
  said[DELIVERED_RECORDS] = count;
  calls.deliver();
}

/** @type {() => number} */
function loopTurn() {
  return calls.loopTurn();
}

/**
 * Schedules `wake` for the event loop's next turn, before that reads any socket. Returns false if there is no way to
 * do that.
 *
 * @type {() => boolean}
 */
function callNext() {
  return calls.callNext();
}

/**
 * Lends memory for batches to the reactor that the last one came from.
 *
 * @type {(id: number, memory: Buffer) => void}
 */
function lend(id, memory) {
  said[LENT_ID] = id;
  calls.lend(memory);
}

/**
 * The number of bytes of a connection's sends that the kernel has, minus bytes of its topics that
 * wait: those are in no count here.
 *
 * @type {(connection: { _slot: number, _generation: number }) => number}
 */
function bytesSettled({ _slot, _generation }) {
  said[ASKED_SLOT] = _slot;
  said[ASKED_GENERATION] = _generation;
  return calls.bytesSettled();
}

/**
 * A chunk has come from the stream of a connection. With `mayStay` its bytes may be read where they are: then
 * `incoming` may have their records, with offsets in the chunk. Else they are copied. Returns false if the stream is not
 * to be read before it is told so. The caller calls `act`.
 *
 * @type {(connection: { _slot: number, _generation: number }, chunk: Uint8Array, mayStay: boolean) => boolean}
 */
function pump({ _slot, _generation }, chunk, mayStay) {
  said[ASKED_SLOT] = _slot;
  said[ASKED_GENERATION] = _generation;
  said[PUMPED] = mayStay ? 1 : 0;
  const isRead = calls.pump(chunk);
  if (mayStay) {
    const word = said[PUMPED];
    incoming.count = word === 0 ? 0 : word - 1;
    incoming.turn = said[DRAINED_TURN];
    said[PUMPED] = 0;
  }
  return isRead;
}

/** Streams do what the last call has left for them. */
function act() {
  if (said[FLOWS_WAIT] !== 0) flows.act();
}

/**
 * Something else has happened to that stream.
 *
 * @type {(connection: { _slot: number, _generation: number }, event: number) => void}
 */
function streamEvent({ _slot, _generation }, event) {
  said[ASKED_SLOT] = _slot;
  said[ASKED_GENERATION] = _generation;
  calls.streamEvent(event);
  if (said[FLOWS_WAIT] !== 0) flows.act();
}

/** Records of the immediate under way count as of the loop's turn now. */
function renewTurn() {
  incoming.turn = loopTurn();
}

/** JavaScript lets something go ahead of what has come before it. */
function countUnsettled() {
  incoming.unsettled++;
}

module.exports = {
  act,
  attach,
  bytesSettled,
  callNext,
  countUnsettled,
  delivered,
  drain,
  incoming,
  isAwaited,
  lend,
  loopTurn,
  pump,
  renewTurn,
  streamEvent,
  streamsWait,
};

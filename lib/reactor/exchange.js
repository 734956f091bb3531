'use strict';

// The native calls of every turn; `src/binding/exchange.rs` is the other end. Arguments and results are words after the
// records of a shared array: as arguments they would cost more than the call.

const {
  CALL_GENERATION,
  CALL_SLOT,
  DELIVERED_RECORDS,
  PUMPED,
  STREAMS_WAIT,
} = require('../base/layout');
const { runOps } = require('./stream-ops');
const { state } = require('./reactors');

/** A connection or its handshake. @typedef {{ _slot: number, _generation: number }} ConnectionId */

function streamsWait() {
  return (state.words[STREAMS_WAIT] & 1) !== 0;
}

/** Whether records of streams wait, or their reactor waits until earlier ones are handled. */
function isAwaited() {
  return state.words[STREAMS_WAIT] !== 0;
}

/** The rest of the last batch comes in a later turn of the event loop. @param {number} count */
function delivered(count) {
  state.words[DELIVERED_RECORDS] = count;
  state.calls.deliver();
}

/** The next call is about this connection. @param {ConnectionId} connection */
function selectConnection({ _slot, _generation }) {
  state.words[CALL_SLOT] = _slot;
  state.words[CALL_GENERATION] = _generation;
}

/**
 * Bytes of a connection's sends that the kernel has, minus waiting bytes of its topics, which nothing counts here.
 *
 * @type {(connection: ConnectionId) => number}
 */
function bytesSettled(connection) {
  selectConnection(connection);
  return state.calls.bytesSettled();
}

/**
 * A chunk of a connection's stream. With `mayStay` its bytes can be read in place: `PUMPED` is then 1 + the number of
 * records, with offsets in the chunk. Returns false if the stream must not be read until told so. The caller calls
 * `runOps`.
 *
 * @type {(connection: ConnectionId, chunk: Uint8Array, mayStay: boolean) => boolean}
 */
function pump(connection, chunk, mayStay) {
  selectConnection(connection);
  state.words[PUMPED] = mayStay ? 1 : 0;
  return state.calls.pump(chunk);
}

/** Anything else that happens to the stream. @type {(connection: ConnectionId, event: number) => void} */
function streamEvent(connection, event) {
  selectConnection(connection);
  state.calls.streamEvent(event);
  runOps();
}

module.exports = { bytesSettled, delivered, isAwaited, pump, streamEvent, streamsWait };

'use strict';

// Not the global ones: a test may have put others in their place.
const { performance } = require('node:perf_hooks');
const { setImmediate } = require('node:timers');

const { EMPTY_BUFFER, FastBuffer } = require('../constants');
const { isTraced } = require('./diagnostics');
const { BORROWED, NOT_PLAIN } = require('../bits');
const { batch, borrow, nextBatch, restore, takeLarge } = require('./batch');
const { checkpoint } = require('./checkpoint');
const { delivered, incoming } = require('./crossing');
const {
  ADOPTED_SLOTS,
  IN_BINARY,
  IN_CLOSE,
  IN_CLOSED,
  IN_END,
  IN_FAILURE,
  IN_FLAG_OWNED,
  IN_LISTENER_CLOSED,
  IN_OPEN,
  IN_REFUSED,
  IN_REQUEST,
  IN_TEXT,
  KIND_MASK,
  OPENED_LISTENER,
  TOPIC_SLOT,
} = require('./layout');
const { nodeEmit } = require('../node-emit');
const outbox = require('./outbox');
const table = require('./table');
const { beginTurn, callDue, endTurn, ends, mayWait } = require('./turns');

const { connectionOf, state } = table;

/**
 * An open WebSocket, whose emitter's own fields are read.
 *
 * @typedef {import('../connection/state').WebSocket & { _events: Record<string, unknown> }} Open
 */

/** The most milliseconds and batches of one turn; then timers and other I/O come first. */
const TURN_MILLISECONDS = 8;
const TURN_BATCHES = 8;

/**
 * The most milliseconds of a turn in which connections end. A connection may leave many topics, so
 * the clock is read behind each end.
 */
const ENDING_MILLISECONDS = 4;

/** Records after which the clock is read within a batch. */
const CLOCK_INTERVAL = 64;

/** The slot of the previous record, when there is none or that record opened the connection. */
const NO_RECORD = -1;
const OPENED_JUST_NOW = -2;

// The batch being delivered: records [cursor, count) are still to come.
let cursor = 0;
let count = 0;
let batchNumber = 0;
let delivering = false;
let immediate = false;
/**
 * The turns of the event loop for which the next connection that opens waits after an end, so that a
 * client of both has mostly seen that end. Where many connections come and go, the openings of one call
 * of `wake` wait for that many turns together.
 */
const TURNS_AFTER_END = 3;
let hasEnded = false;
let turnsToWait = 0;

/** Called when records wait, or to go on with a turn that was cut short. */
function wake() {
  callDue();
  if (immediate) return;
  turnsToWait = TURNS_AFTER_END;
  turn();
}

function continueTurn() {
  immediate = false;
  beginTurn();
  try {
    turn();
  } finally {
    endTurn();
  }
}

function continueLater() {
  if (immediate) return;
  immediate = true;
  setImmediate(continueTurn);
}

/** @returns {boolean} Whether what is left over comes in an immediate */
function isPostponed() {
  return immediate;
}

/** @returns {boolean} Whether a handler is being called */
function isDelivering() {
  return delivering;
}

/** Delivers what waits, for as long as a turn may take. The rest comes in an immediate. */
function turn() {
  // A handler that runs the event loop, as deasync does, or calls this function is in a delivery,
  // which goes on when it returns.
  if (delivering) return;
  const deadline = performance.now() + TURN_MILLISECONDS;
  let finished = false;
  outbox.beginBatching();
  try {
    for (let batches = 0; ; ) {
      if (cursor === count) {
        if (batches === TURN_BATCHES) break;
        count = cursor = 0;
        // The sends of handlers leave with it.
        count = nextBatch();
        batchNumber++;
        if (count === 0) {
          finished = true;
          break;
        }
        if (batches++ !== 0 && performance.now() > deadline) break;
      }
      delivering = true;
      if (!deliver(deadline)) break;
      delivering = false;
    }
  } finally {
    // Also when a handler threw: the error goes on to 'uncaughtException', the rest comes next.
    delivering = false;
    outbox.endBatching();
    if (!finished) {
      // Peers wait for some records, which must not wait for all of a batch.
      if (cursor !== 0 && cursor !== count) delivered(cursor);
      continueLater();
    }
  }
}

/**
 * Delivers the batch from `cursor` on. `turn` deals with a handler that throws: inside
 * of a `try` V8 needs three more calls to construct a Buffer, a seventh of JavaScript's share of a
 * small message. This function is too long to be inlined there.
 *
 * @param {number} deadline The time at which to stop
 * @returns {boolean} Whether all of it was delivered
 */
function deliver(deadline) {
  const { adopted, connections } = state;
  const { records, turn: turnNumber } = incoming;
  const traced = isTraced();
  let { base, buffer, bytes } = batch;
  let next = cursor;
  let previous = NO_RECORD;
  let nextLook = next + CLOCK_INTERVAL;
  let latest = deadline;
  while (next < count) {
    const word = next << 2;
    const slot = records[word];
    if (slot !== previous) {
      if (previous !== NO_RECORD) {
        checkpoint();
        // A peer waits for each connection that opens.
        if (previous === OPENED_JUST_NOW) nextLook = next;
      }
      previous = slot;
    }
    if (next >= nextLook) {
      if (performance.now() > latest) {
        // A request may come next, and the handlers of the records before go on with a promise.
        checkpoint();
        return false;
      }
      nextLook = next + CLOCK_INTERVAL;
    }
    // Set before a handler may throw: the next delivery goes on behind this record.
    cursor = ++next;
    if (bytes.length === 0) {
      // A handler has detached the memory.
      if (!restore()) {
        lose(slot, records[word + 1], records[word + 2], records[word + 3]);
        continue;
      }
      ({ base, buffer, bytes } = batch);
    }
    const tag = records[word + 1];
    const length = records[word + 3];
    const kind = tag & KIND_MASK;
    const connection = /** @type {Open | undefined} */ (slot < ADOPTED_SLOTS ? connections[slot] : adopted[slot - ADOPTED_SLOTS]);
    if (
      (kind === IN_TEXT || kind === IN_BINARY) &&
      (tag & IN_FLAG_OWNED) === 0 &&
      connection !== undefined &&
      !traced && (connection._bits & NOT_PLAIN) === 0
    ) {
      connection._turn = turnNumber;
      const data = length === 0 ? EMPTY_BUFFER : new FastBuffer(buffer, base + records[word + 2], length);
      if ((connection._bits & BORROWED) === 0) batch.viewed = true;
      else if (length !== 0) borrow(data);
      const listener = connection._events.message;
      // Without `emit` a single listener saves a tenth of what a small message costs.
      if (typeof listener === 'function' && connection.emit === nodeEmit) {
        Reflect.apply(listener, connection, [data, kind === IN_BINARY]);
      } else {
        connection.emit('message', data, kind === IN_BINARY);
      }
    } else {
      if (isOpening(kind) && ((hasEnded && turnsToWait > 0) || (ends.unreported !== 0 && mayWait()))) {
        // A client that has closed a connection sees its end before another one opens.
        if (--turnsToWait <= 0) hasEnded = false;
        cursor--;
        return false;
      }
      if (kind === IN_END) {
        // Their listeners may throw.
        cursor--;
        checkpoint();
        cursor++;
      } else if (connection !== undefined) {
        connection._turn = turnNumber;
      }
      deliverOther(slot, tag, records[word + 2], length);
      // Jobs of a 'connection' handler run before its first message, as they do when Node reads the
      // socket.
      if (kind === IN_OPEN) {
        previous = OPENED_JUST_NOW;
      } else if (isEnding(kind)) {
        hasEnded = true;
        nextLook = next;
        latest = deadline - TURN_MILLISECONDS + ENDING_MILLISECONDS;
      }
    }
  }
  // The last connection's jobs run before the flush too, so that what they send goes with it.
  checkpoint();
  return true;
}

/**
 * @param {number} kind Kind of the record
 * @returns {boolean} Whether it is the first record of a connection, or of its request
 */
function isOpening(kind) {
  return kind === IN_OPEN || kind === IN_REQUEST;
}

/**
 * @param {number} kind Kind of the record
 * @returns {boolean} Whether the connection may leave its topics
 */
function isEnding(kind) {
  return kind === IN_CLOSE || kind === IN_CLOSED || kind === IN_END;
}

/**
 * Acts on a record whose batch is gone. A connection that misses a record ends: no peer may take
 * a frame for received that was not.
 *
 * @param {number} slot Slot of the connection in the table
 * @param {number} tag kind | flags | aux of the record
 * @param {number} offset Offset of the payload in the batch
 * @param {number} length Bytes of the payload, or a count
 */
function lose(slot, tag, offset, length) {
  const kind = tag & KIND_MASK;
  const isOfPayload = kind <= IN_CLOSE || kind === IN_REQUEST;
  const isHere = length === 0 || (tag & IN_FLAG_OWNED) !== 0;
  if (!isOfPayload || isHere) deliverOther(slot, tag, offset, length);
  else connectionOf(slot)?.terminate();
}

/**
 * @param {number} slot Slot of the connection, or id of the listener
 * @param {number} tag kind | flags << 8 | aux << 16
 * @param {number} offset Offset of the payload in the batch
 * @param {number} length Its bytes, or a count
 */
function deliverOther(slot, tag, offset, length) {
  const kind = tag & KIND_MASK;
  if (isOpening(kind)) {
    // Read in place: a Buffer of its own would be garbage at once.
    const isOwned = (tag & IN_FLAG_OWNED) !== 0;
    const bytes = isOwned ? takeLarge(offset, length) : batch.bytes;
    const start = isOwned ? 0 : batch.base + offset;
    state.listeners.get(bytes.readUInt32LE(start + OPENED_LISTENER))?._onOpened(slot, tag, bytes, start);
  } else if (kind === IN_LISTENER_CLOSED) {
    const server = state.listeners.get(slot);
    // Each reactor reports this when nothing opens there any more.
    if (server === undefined || --server._reactors !== 0) return;
    table.strike(slot);
    server._onReleased();
  } else if (kind === IN_REFUSED) {
    state.listeners.get(slot)?._listener._onRefused(length);
  } else if (kind === IN_FAILURE) {
    fail(payload(tag, offset, length).toString());
  } else if (slot === TOPIC_SLOT) {
    state.topics?._onRecord(tag, offset, length);
  } else {
    connectionOf(slot)?._onRecord(tag, offset, length);
  }
}

/**
 * The payload of a record of the batch being delivered.
 *
 * @param {number} tag kind | flags | aux of the record
 * @param {number} offset Offset of the payload in the batch
 * @param {number} length Bytes of the payload
 * @returns {Buffer} A view of the batch, or memory of its own
 */
function payload(tag, offset, length) {
  if (length === 0) return EMPTY_BUFFER;
  if ((tag & IN_FLAG_OWNED) !== 0) return takeLarge(offset, length);
  batch.viewed = true;
  return new FastBuffer(batch.buffer, batch.base + offset, length);
}

/**
 * The payload of a record of the batch being delivered, for code that has read it before a handler
 * runs. A view that a handler might keep would cost the memory of the whole batch.
 *
 * @param {number} tag kind | flags | aux of the record
 * @param {number} offset Offset of the payload in the batch
 * @param {number} length Bytes of the payload
 * @returns {Buffer} A view of the batch, or memory of its own
 */
function peek(tag, offset, length) {
  if ((tag & IN_FLAG_OWNED) !== 0) return takeLarge(offset, length);
  return new FastBuffer(batch.buffer, batch.base + offset, length);
}

/**
 * Number of the batch being delivered, -1 outside of a delivery.
 *
 * @returns {number} The number, counted from the first batch on
 */
function currentBatch() {
  return delivering ? batchNumber : -1;
}

/**
 * A reactor died: the others end too, every connection is gone and every server has failed.
 *
 * @param {string} reason Message of the panic
 */
function fail(reason) {
  const error = Object.assign(new Error(`The reactor failed: ${reason}`), { code: 'WS_ERR_REACTOR_FAILED' });
  state.native.shutdown();
  state.failure = error;
  for (const server of state.listeners.values()) server._listClients();
  const { connections, servers } = table.forgetAll();
  for (const connection of connections) process.nextTick(() => connection._onFailed());
  for (const server of servers) process.nextTick(() => server._onFailed(error));
  process.nextTick(() => state.topics?._onFailed());
}

module.exports = { currentBatch, isDelivering, isPostponed, payload, peek, turn, wake };

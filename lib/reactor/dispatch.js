'use strict';

const { closeSync } = require('node:fs');
// Not the global ones, which a test can replace.
const { performance } = require('node:perf_hooks');
const { setImmediate } = require('node:timers');

const { EMPTY_BUFFER, FastBuffer } = require('../base/constants');
const { isTraced } = require('./diagnostics');
const { NOT_PLAIN } = require('../base/bits');
const { batch, keep, nextBatch, payload, peek, restore, showChunk, takeLarge } = require('./batch');
const { delivered, isAwaited, pump, streamsWait } = require('./exchange');
const {
  DRAINED_TURN,
  INBOUND_LENGTH,
  INBOUND_OFFSET,
  INBOUND_TAG,
  IN_BINARY,
  IN_CLOSE,
  IN_CLOSED,
  IN_END,
  IN_FAILURE,
  IN_FLAG_OWNED,
  IN_FLAG_SOCKET,
  IN_FROZEN,
  IN_HANDOFF,
  IN_LISTENER_CLOSED,
  IN_OPEN,
  IN_HELLO,
  IN_REFUSED,
  IN_SECURE,
  IN_THAWED,
  IN_TLS_ERROR,
  IN_REQUEST,
  IN_TEXT,
  KIND_MASK,
  OPENED_LISTENER,
  PIPE_SLOTS,
  PUMPED,
  RECORD_WORDS,
  TOPIC_SLOT,
  isPayload,
} = require('../base/layout');
const streamOps = require('./stream-ops');
const { state } = require('./reactors');
const { nodeEmit } = require('../base/node-emit');
const outbox = require('./outbox');
const table = require('./table');
const { beginTurn, callDue, checkpoint, endTurn, waitsForEnds } = require('./loop-turns');

const { connectionOf } = table;

/** @import { WebSocket } from '../connection/state' */

/** With the fields of its emitter. @typedef {WebSocket & { _events: Record<string, unknown> }} Open */

/** Milliseconds and batches of one delivery; then timers and other I/O come first. */
const TURN_MILLISECONDS = 8;
const TURN_BATCHES = 8;

/** The same while connections end, which can leave many topics; the clock is read after each. */
const ENDING_MILLISECONDS = 4;

/** Records between two reads of the clock. */
const CLOCK_INTERVAL = 64;

/** In place of the previous slot: no record yet, or a record that opened the connection. */
const NO_RECORD = -1;
const OPENED_JUST_NOW = -2;

// The current batch: records [cursor, count) remain.
let cursor = 0;
let count = 0;
let batchNumber = 0;
let delivering = false;
let immediate = false;
/** After the callback of a stream, Node itself runs ticks. */
const runNoTicks = () => {};
let runTicks = checkpoint;
/** Whether the batch is a chunk of a stream, read in place. */
let isChunk = false;

/** Called when records wait, or to resume a delivery that was cut short. */
function wake() {
  callDue();
  if (immediate) return;
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

/** Delivers waiting records for up to TURN_MILLISECONDS; the rest in an immediate. @type {(streamsOnly?: boolean) => void} */
function turn(streamsOnly = false) {
  // Called within a delivery, by a handler or an event loop that it runs (as deasync does): that delivery continues.
  if (delivering) return;
  // Most chunks without a whole message leave nothing to do.
  if (streamsOnly && cursor === count && !isAwaited()) return outbox.flush();
  const deadline = performance.now() + TURN_MILLISECONDS;
  runTicks = streamsOnly ? runNoTicks : checkpoint;
  let finished = false;
  outbox.beginBatching();
  try {
    // Writes to streams can bring chunks. Their records must not replace others.
    delivering = true;
    for (let batches = 0; ; ) {
      if (cursor === count) {
        if (batches === TURN_BATCHES) break;
        count = cursor = 0;
        // Sends of handlers leave with this call.
        count = nextBatch(streamsOnly);
        isChunk = false;
        batchNumber++;
        if (count === 0) {
          if (streamsWait()) continue;
          finished = true;
          break;
        }
        if (batches++ !== 0 && performance.now() > deadline) break;
      }
      if (!deliver(deadline)) break;
      if (!isChunk || isAwaited()) continue;
      outbox.flush();
      if (!isAwaited()) {
        finished = true;
        break;
      }
    }
  } finally {
    // Also after an exception of a handler: it goes to 'uncaughtException', and the rest is delivered next.
    delivering = false;
    outbox.endBatching();
    if (!finished) {
      // Peers can wait until these records count as delivered, which must not take a whole batch.
      if (cursor !== 0 && cursor !== count) delivered(cursor);
      if (!immediate) setImmediate(continueTurn);
      immediate = true;
    }
  }
}

/**
 * The next `turn` delivers the records of the chunk. Returns false if the stream is not to be read for now.
 *
 * @type {(connection: WebSocket, chunk: Uint8Array) => boolean}
 */
function take(connection, chunk) {
  const mayStay = !delivering && !immediate && cursor === count;
  const isRead = pump(connection, chunk, mayStay);
  const passed = state.words[PUMPED] - 1;
  if (passed > 0) {
    showChunk(chunk);
    cursor = 0;
    count = passed;
    isChunk = true;
    batchNumber++;
  }
  // Acting on streams can bring other chunks.
  const outer = delivering;
  delivering = true;
  try {
    streamOps.runOps();
  } finally {
    delivering = outer;
  }
  return isRead;
}

/**
 * Delivers the batch from `cursor` on. `turn` handles exceptions: inside a `try`, V8 needs three more calls to
 * construct a Buffer, a seventh of JavaScript's share of a small message.
 *
 * @param {number} deadline
 */
function deliver(deadline) {
  const { words: records } = state;
  const turnNumber = records[DRAINED_TURN];
  const traced = isTraced();
  let { base, buffer, bytes } = batch;
  let next = cursor;
  let previous = NO_RECORD;
  let nextLook = next + CLOCK_INTERVAL;
  let latest = deadline;
  while (next < count) {
    const word = next * RECORD_WORDS;
    const slot = records[word];
    if (slot !== previous) {
      if (previous !== NO_RECORD) {
        runTicks();
        // A peer waits for each connection that opens.
        if (previous === OPENED_JUST_NOW) nextLook = next;
      }
      previous = slot;
    }
    if (next >= nextLook) {
      if (performance.now() > latest) {
        // A request can be next, and handlers of earlier records can continue with a promise.
        runTicks();
        return false;
      }
      nextLook = next + CLOCK_INTERVAL;
    }
    // Set before a handler can throw: the next delivery begins after this record.
    cursor = ++next;
    if (bytes.length === 0) {
      // A handler has detached the memory.
      if (!restore()) {
        lose(slot, records[word + INBOUND_TAG], records[word + INBOUND_OFFSET], records[word + INBOUND_LENGTH]);
        continue;
      }
      ({ base, buffer, bytes } = batch);
    }
    const tag = records[word + INBOUND_TAG];
    const length = records[word + INBOUND_LENGTH];
    const kind = tag & KIND_MASK;
    const connection = /** @type {Open | undefined} */ (connectionOf(slot));
    if (
      (kind === IN_TEXT || kind === IN_BINARY) &&
      (tag & IN_FLAG_OWNED) === 0 &&
      connection !== undefined &&
      !traced && (connection._bits & NOT_PLAIN) === 0
    ) {
      connection._turn = turnNumber;
      const data = length === 0 ? EMPTY_BUFFER : new FastBuffer(buffer, base + records[word + INBOUND_OFFSET], length);
      keep();
      const listener = connection._events.message;
      // For a single listener, a call without `emit` saves a tenth of the cost of a small message.
      if (typeof listener === 'function' && connection.emit === nodeEmit) {
        Reflect.apply(listener, connection, [data, kind === IN_BINARY]);
      } else {
        connection.emit('message', data, kind === IN_BINARY);
      }
    } else {
      if (isOpening(kind) && waitsForEnds()) {
        cursor--;
        return false;
      }
      if (kind === IN_END) {
        // A tick can throw: then the end is still to be delivered.
        cursor--;
        runTicks();
        cursor++;
      } else if (connection !== undefined) {
        connection._turn = turnNumber;
      }
      deliverOther(slot, tag, records[word + INBOUND_OFFSET], length);
      // Jobs of a 'connection' handler run before the first message, as when Node reads the socket.
      if (kind === IN_OPEN) {
        previous = OPENED_JUST_NOW;
      } else if (kind === IN_CLOSE || kind === IN_CLOSED || kind === IN_END) {
        nextLook = next;
        latest = deadline - TURN_MILLISECONDS + ENDING_MILLISECONDS;
      }
    }
  }
  // Jobs of the last connection also run before the flush, and send with it.
  runTicks();
  return true;
}

/** @param {number} kind */
function isOpening(kind) {
  return kind === IN_OPEN || kind === IN_REQUEST || kind === IN_HANDOFF;
}

/**
 * A record whose batch is lost: all its bytes came from peers. Their connections end: no peer must believe that a
 * lost frame was received.
 *
 * @type {typeof deliverOther}
 */
function lose(slot, tag, offset, length) {
  if (isPayload(tag & KIND_MASK) && length !== 0 && (tag & IN_FLAG_OWNED) === 0) connectionOf(slot)?.terminate();
  else deliverOther(slot, tag, offset, length);
}

/** @type {(slot: number, tag: number, offset: number, length: number) => void} */
function deliverOther(slot, tag, offset, length) {
  const kind = tag & KIND_MASK;
  if (isOpening(kind)) {
    // Read in place: a Buffer would be garbage at once.
    const isOwned = (tag & IN_FLAG_OWNED) !== 0;
    const bytes = isOwned ? takeLarge(offset, length) : batch.bytes;
    const start = isOwned ? 0 : batch.base + offset;
    const server = table.serverOf(bytes.readUInt32LE(start + OPENED_LISTENER));
    if (server !== undefined) server._onOpened(slot, tag, bytes, start);
    else if (kind === IN_HANDOFF) discard(slot, tag);
  } else if (kind === IN_LISTENER_CLOSED) {
    const server = table.serverOf(slot);
    // Each reactor reports this when no more connections open there.
    if (server === undefined || --server._reactors !== 0) return;
    table.removeServer(slot);
    server._onReleased();
  } else if (kind === IN_FROZEN || kind === IN_THAWED) {
    table.serverOf(slot)?._handover?.onRecord(kind, length);
  } else if (kind === IN_REFUSED) {
    table.serverOf(slot)?._listener._onRefused(length);
  } else if (kind === IN_HELLO || kind === IN_SECURE || kind === IN_TLS_ERROR) {
    const bytes = peek(tag, offset, length);
    table.serverOf(bytes.readUInt32LE(OPENED_LISTENER))?._onTls(kind, slot, bytes);
  } else if (kind === IN_FAILURE) {
    fail(payload(tag, offset, length).toString(), slot === PIPE_SLOTS);
  } else if (slot === TOPIC_SLOT) {
    state.topics?._onRecord(tag, offset, length);
  } else {
    connectionOf(slot)?._onRecord(tag, offset, length);
  }
}

/** Closes a socket that a reactor handed off: its server is gone, or its record is lost. @type {(slot: number, tag: number) => void} */
function discard(slot, tag) {
  const taken = (tag & IN_FLAG_SOCKET) === 0 ? null : state.native.takeSocket(slot);
  if (taken !== null) closeSync(taken.fd);
}

/** -1 outside of a delivery. */
function currentBatch() {
  return delivering ? batchNumber : -1;
}

/**
 * A reactor has died: the others end too, connections close, and servers fail. Streams survive the death of a reactor
 * with a thread.
 *
 * @type {(reason: string, isOfStreams: boolean) => void}
 */
function fail(reason, isOfStreams) {
  const error = Object.assign(new Error(`The reactor failed: ${reason}`), { code: 'WS_ERR_REACTOR_FAILED' });
  if (isOfStreams) state.native.shutdown();
  else state.native.endThreads();
  for (const server of table.servers()) server._listClients();
  const { connections, servers } = table.fail(error, isOfStreams);
  for (const connection of connections) process.nextTick(() => connection._onFailed());
  for (const server of servers) process.nextTick(() => server._onFailed(error));
  process.nextTick(() => state.topics?._onFailed());
}

module.exports = { currentBatch, take, turn, wake };

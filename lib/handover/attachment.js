'use strict';

// What a WebSocket brings to the next process: the value of the program, and messages that wait for resume().

const { deserialize, serialize } = require('node:v8');

const { BUFFERING, PAUSED, RESUMED, SENDS_WAIT } = require('../base/bits');
const { MOVED_ATTACHMENT, MOVED_QUEUED, OUT_ATTACH, OUT_FLAG_ON } = require('../base/layout');
const { endOf, tlsOffset } = require('../connection/handshake-info');
const { scheduleNext } = require('../connection/receive');
const { RecordBuffer } = require('../connection/state');
const outbox = require('../reactor/outbox');
const { exportMemberships, importMemberships } = require('./topics');

/** @import { WebSocket } from '../connection/state' */

/** @typedef {ReturnType<typeof import('../topics/subscriptions').subscriptionsOf>} Subscriptions */

/** Of the value of the program. */
const MAX_BYTES = 64 * 1024;

/** The version of V8's form, which this process writes and reads, and its first byte, which begins no text. */
const [MARK, FORM] = serialize(null);

/** Characters of a text that stays one. */
const SHORT = 256;

/** What V8's form makes of a number or a short text takes ten times as long to read. @typedef {Buffer | string} Packed */

/** What follows: the value alone, as for most connections, an object, or a text after its length, and the value. The text is made and read in a fifth of the time. */
const ALONE = Buffer.from([0]);
const WITH_OTHERS = Buffer.from([1]);
const WITH_TEXT = 2;
/** Bytes before the text. */
const TEXT_HEAD = 5;

/** @type {(value: unknown) => Packed | null} @throws {DOMException | RangeError} */
function pack(value) {
  if (value === undefined) return null;
  // JSON has no -0.
  if (typeof value === 'number' ? Number.isFinite(value) && !Object.is(value, -0) : typeof value === 'string' && value.length <= SHORT) return JSON.stringify(value);
  let bytes;
  try {
    bytes = serialize(typeof value === 'object' ? structuredClone(value) : value);
  } catch (error) {
    // Such as memory that is shared between threads.
    throw error instanceof DOMException ? error : new DOMException(/** @type {Error} */ (error).message, 'DataCloneError');
  }
  if (bytes.length > MAX_BYTES) throw new RangeError(`attachment must take at most ${MAX_BYTES} bytes. It takes ${bytes.length}`);
  return bytes;
}

/** @param {Packed} packed */
function unpack(packed) {
  return typeof packed === 'string' ? JSON.parse(packed) : deserialize(packed);
}

/** Whether it waits for something that cannot move, such as the history of a broker. @param {WebSocket} ws */
function waits({ _bits: bits, _extra: extra }) {
  return (bits & SENDS_WAIT) !== 0 || Boolean(extra?.isBusy || /** @type {any} */ (extra?.topics)?.pendingHistories?.size);
}

/** Whether the reactor has all that goes with the connection. @param {WebSocket} ws */
function isAttached({ _bits: bits, _extra: extra }) {
  if ((bits & (BUFFERING | PAUSED)) !== 0) return false;
  if (extra === null) return true;
  const topics = /** @type {Subscriptions | null} */ (extra.topics);
  return extra.attachment === extra.attached && (topics === null || (topics.isTold && topics.present === null));
}

/**
 * Sends the reactor what goes with the connection, or says that it cannot go. `isEarly`: its listener is not frozen. Then little
 * is left to do, and V8 has compiled this.
 *
 * @type {(ws: WebSocket, isEarly?: boolean) => void}
 */
function attach(ws, isEarly = false) {
  const isBusy = waits(ws);
  if (isEarly && (isBusy || (ws._bits & (BUFFERING | PAUSED)) !== 0 || ws._extra?.buffered)) return;
  if (isBusy) {
    ws._ensureExtra().attached = undefined;
    return void outbox.pushEmpty(ws._slot, ws._generation, OUT_ATTACH | OUT_FLAG_ON);
  }
  if (isAttached(ws)) return;
  const extra = ws._ensureExtra();
  const isPaused = (ws._bits & PAUSED) !== 0;
  const memberships = exportMemberships(ws);
  const { attachment } = extra;
  const { isFull = false, next = 0, records = [] } = extra.buffered ?? {};
  // They are delivered once, here or there.
  if (extra.buffered) extra.buffered.isHeld = true;
  extra.attached = undefined;
  if (records.length !== next || memberships?.entries.length || memberships?.watched.length) {
    push(ws, [WITH_OTHERS, serialize({ attachment, isFull, isPaused, memberships, records: records.slice(next) })]);
  } else if (isPaused || memberships !== null) {
    const text = Buffer.from(JSON.stringify({ isPaused, names: memberships?.names }));
    const head = Buffer.allocUnsafe(TEXT_HEAD);
    head[0] = WITH_TEXT;
    head.writeUInt32LE(text.length, 1);
    push(ws, attachment === null ? [head, text] : [head, text, attachment]);
    if (isPaused || memberships === null) return;
    extra.attached = attachment;
    /** @type {Subscriptions} */ (extra.topics).isTold = true;
  } else {
    // Also without a value: an earlier handover can have failed.
    push(ws, attachment === null ? [] : [ALONE, attachment]);
    extra.attached = attachment;
  }
}

/** @type {(ws: WebSocket, parts: Packed[]) => void} */
function push(ws, parts) {
  if (parts.length === 0) outbox.pushEmpty(ws._slot, ws._generation, OUT_ATTACH);
  else outbox.push(ws._slot, ws._generation, OUT_ATTACH, Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part))));
}

/** The connection has not moved. @param {WebSocket} ws */
function release(ws) {
  const { buffered = null } = ws._extra ?? {};
  if (buffered === null || !buffered.isHeld) return;
  buffered.isHeld = false;
  if ((ws._bits & PAUSED) === 0) scheduleNext(ws);
}

/** Reads the state of a connection that another process gave: its OPEN record is at `start`. A state that cannot be read ends the connection. @type {(ws: WebSocket, bytes: Buffer, start: number) => void} */
function detach(ws, bytes, start) {
  ws._bits |= RESUMED;
  const at = tlsOffset(bytes, start);
  ws._accepted = bytes.readUInt32LE(at + MOVED_QUEUED);
  const from = at + MOVED_ATTACHMENT;
  const end = endOf(bytes, start);
  if (end === from) return;
  if (bytes[from] === ALONE[0]) detachValue(ws, bytes, from + 1, end);
  else if (bytes[from] === WITH_TEXT) detachText(ws, bytes, from, end);
  else detachAll(ws, Buffer.from(bytes.subarray(from + 1, end)));
}

/** @type {(ws: WebSocket, bytes: Buffer, from: number, end: number) => void} */
function detachValue(ws, bytes, from, end) {
  if (bytes[from] !== MARK) ws._ensureExtra().attachment = bytes.toString('utf8', from, end);
  else if (bytes[from + 1] > FORM) ws.terminate();
  // A copy: Buffers in it would keep the memory of the batch.
  else ws._ensureExtra().attachment = Buffer.from(bytes.subarray(from, end));
}

/** @type {(ws: WebSocket, bytes: Buffer, at: number, end: number) => void} */
function detachText(ws, bytes, at, end) {
  const start = at + TEXT_HEAD;
  const from = start + bytes.readUInt32LE(at + 1);
  const { isPaused, names } = JSON.parse(bytes.toString('utf8', start, from));
  if (isPaused) ws._bits |= PAUSED;
  if (names !== undefined) importMemberships(ws, { entries: [], names, watched: [] });
  if (from !== end) detachValue(ws, bytes, from, end);
}

/** @type {(ws: WebSocket, brought: Buffer) => void} */
function detachAll(ws, brought) {
  let moved;
  try {
    moved = deserialize(brought);
  } catch {
    return void ws.terminate();
  }
  const { attachment, isFull, isPaused, memberships, records } = moved;
  const extra = ws._ensureExtra();
  extra.attachment = attachment;
  if (isPaused) ws._bits |= PAUSED;
  if (memberships !== null) importMemberships(ws, memberships);
  if (records.length === 0) return;
  extra.buffered = Object.assign(new RecordBuffer(), { isFull, records });
  ws._bits |= BUFFERING;
}

module.exports = { attach, detach, pack, release, unpack, waits };

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

/** Of the value of the program. */
const MAX_BYTES = 64 * 1024;

/** The version of V8's form, which this process writes and reads. */
const [, FORM] = serialize(null);

/** What follows: the value alone, as for most connections, an object, or a text after its length, and the value. The text is made and read in a fifth of the time. */
const ALONE = Buffer.from([0]);
const WITH_OTHERS = Buffer.from([1]);
const WITH_TEXT = 2;
/** Bytes before the text. */
const TEXT_HEAD = 5;

/** @type {(value: unknown) => Buffer | null} @throws {DOMException | RangeError} */
function pack(value) {
  if (value === undefined) return null;
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

/** Whether it waits for something that cannot move, such as the history of a broker. @param {WebSocket} ws */
function waits({ _bits: bits, _extra: extra }) {
  return (bits & SENDS_WAIT) !== 0 || Boolean(extra?.isBusy || /** @type {any} */ (extra?.topics)?.pendingHistories?.size);
}

/** Sends the reactor what goes with the connection, or says that it cannot go. @param {WebSocket} ws */
function attach(ws) {
  if (waits(ws)) return void outbox.pushEmpty(ws._slot, ws._generation, OUT_ATTACH | OUT_FLAG_ON);
  const extra = ws._extra;
  const isPaused = (ws._bits & PAUSED) !== 0;
  const memberships = exportMemberships(ws);
  const attachment = extra?.attachment ?? null;
  const { isFull = false, next = 0, records = [] } = extra?.buffered ?? {};
  // They are delivered once, here or there.
  if (extra?.buffered) extra.buffered.isHeld = true;
  if (records.length !== next || memberships?.entries.length || memberships?.watched.length) {
    push(ws, [WITH_OTHERS, serialize({ attachment, isFull, isPaused, memberships, records: records.slice(next) })]);
  } else if (isPaused || memberships !== null) {
    const text = Buffer.from(JSON.stringify({ isPaused, names: memberships?.names }));
    const head = Buffer.allocUnsafe(TEXT_HEAD);
    head[0] = WITH_TEXT;
    head.writeUInt32LE(text.length, 1);
    push(ws, attachment === null ? [head, text] : [head, text, attachment]);
  } else {
    // Also without a value: an earlier handover can have failed.
    push(ws, attachment === null ? [] : [ALONE, attachment]);
  }
}

/** @type {(ws: WebSocket, parts: Buffer[]) => void} */
function push(ws, parts) {
  if (parts.length === 0) outbox.pushEmpty(ws._slot, ws._generation, OUT_ATTACH);
  else outbox.push(ws._slot, ws._generation, OUT_ATTACH, Buffer.concat(parts));
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
  const end = endOf(bytes, start);
  if (end === at + MOVED_ATTACHMENT) return;
  // A copy: Buffers in it would keep the memory of the batch.
  const [from, text] = textOf(bytes, at + MOVED_ATTACHMENT);
  const brought = Buffer.from(bytes.subarray(from, end));
  if (bytes[at + MOVED_ATTACHMENT] !== WITH_OTHERS[0]) {
    if (text !== '') {
      const { isPaused, names } = JSON.parse(text);
      if (isPaused) ws._bits |= PAUSED;
      if (names !== undefined) importMemberships(ws, { entries: [], names, watched: [] });
      if (from === end) return;
    }
    if (brought[1] > FORM) ws.terminate();
    else ws._ensureExtra().attachment = brought;
    return;
  }
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

/** Where the value or the object begins, and the text before it. @type {(bytes: Buffer, at: number) => [number, string]} */
function textOf(bytes, at) {
  if (bytes[at] !== WITH_TEXT) return [at + 1, ''];
  const start = at + TEXT_HEAD;
  const end = start + bytes.readUInt32LE(at + 1);
  return [end, bytes.toString('utf8', start, end)];
}

module.exports = { attach, detach, pack, release, unpack: deserialize, waits };

'use strict';

const { EMPTY_BUFFER } = require('../base/constants');
const { HIGH_WATER_MARK, LOW_WATER_MARK, OUT_WRITE } = require('../base/layout');
const { bytesSettled } = require('../reactor/exchange');
const { push } = require('./enqueue');

/** @import { ColdFields, WebSocket } from './state' */

/**
 * A subscriber can send this many bytes between two queries of how many wait: its topics are not counted here, and a
 * query takes longer than a short send.
 */
const QUERY_INTERVAL = 16 * 1024;

/**
 * Returns false if there is no room for more; 'drain' follows. `before`: bytes that had been accepted before the last
 * frame, which might have left already.
 *
 * @type {(ws: WebSocket, before: number) => boolean}
 */
function hasRoom(ws, before) {
  const extra = ws._ensureExtra();
  const given = ws._accepted + extra.lateBytes;
  if (given < extra.roomUntil) return true;
  const waiting = ws.bufferedAmount;
  const room = Math.max(HIGH_WATER_MARK - waiting, 0);
  const untilQuery = extra.topics === null ? Infinity : QUERY_INTERVAL;
  extra.roomUntil = given + Math.min(room, untilQuery, extra.socket?._onFrames(Math.max(waiting, ws._accepted - before)) ?? Infinity);
  if (waiting < HIGH_WATER_MARK) return true;
  extra.isDrainDue = true;
  awaitDrain(ws, extra);
  return false;
}

/** After bytes that can wait. @type {(ws: WebSocket, extra: ColdFields) => void} */
function awaitDrain(ws, extra) {
  if (extra.isDrainDue && !extra.isMarked) mark(ws, extra);
}

/**
 * Makes the reactor report when all bytes so far have left. By itself it reports only if it finds HIGH_WATER_MARK bytes
 * waiting, and it might have written some by then.
 *
 * @type {(ws: WebSocket, extra: ColdFields) => void}
 */
function mark(ws, extra) {
  extra.isMarked = true;
  // An empty write: the callback comes after all bytes before it have left.
  push(ws, OUT_WRITE, EMPTY_BUFFER, (error) => {
    extra.isMarked = false;
    if (error !== null) return;
    drained(ws);
    // Bytes of a stream, or of a Blob that is still being read, can wait longer.
    if (ws._accepted - bytesSettled(ws) > LOW_WATER_MARK) awaitDrain(ws, extra);
  });
}

/**
 * The waiting bytes might have fallen to LOW_WATER_MARK. The reactor and an empty write report that, perhaps for bytes
 * from before an earlier 'drain'.
 *
 * @param {WebSocket} ws
 */
function drained(ws) {
  if (!ws._extra?.isDrainDue || ws.bufferedAmount > LOW_WATER_MARK) return;
  ws._extra.isDrainDue = false;
  ws.emit('drain');
}

/** The reactor reports that HIGH_WATER_MARK bytes waited, and no longer do. @param {WebSocket} ws */
function onDrainRecord(ws) {
  // These can be published bytes, which no send has counted.
  if (ws._extra !== null && ws._extra.topics !== null) ws._extra.socket?._onFrames(HIGH_WATER_MARK);
  drained(ws);
}

module.exports = { awaitDrain, onDrainRecord, hasRoom };

'use strict';

const { EMPTY_BUFFER } = require('../base/constants');
const { HIGH_WATER_MARK, LOW_WATER_MARK, OUT_WRITE } = require('../base/layout');
const { push } = require('./post');

/** @import { ExtraFields, WebSocket } from './state' */

/**
 * Bytes that a subscriber sends between two queries of how many wait for it, as its topics are in
 * no count here: a query takes longer than a short send. 16 KiB.
 */
const ASKED_EVERY = 16 * 1024;

/** False: there is no room for more, and 'drain' follows. @type {(ws: WebSocket) => boolean} */
function hasRoom(ws) {
  const extra = ws._ensureExtra();
  const given = ws._accepted + extra.lateBytes;
  if (given < extra.roomUntil) return true;
  const waiting = ws.bufferedAmount;
  const room = Math.max(HIGH_WATER_MARK - waiting, 0);
  extra.roomUntil = given + (extra.topics === null ? room : Math.min(room, ASKED_EVERY));
  if (waiting < HIGH_WATER_MARK) return true;
  extra.isDrainDue = true;
  if (!extra.isMarked) mark(ws, extra);
  return false;
}

/**
 * Makes the reactor report when all bytes sent until now have left. By itself it does so only if it found
 * HIGH_WATER_MARK bytes waiting, and it may have written some of them by then.
 *
 * @type {(ws: WebSocket, extra: ExtraFields) => void}
 */
function mark(ws, extra) {
  extra.isMarked = true;
  // An empty write, whose callback reports that all bytes before it have left.
  push(ws, OUT_WRITE, EMPTY_BUFFER, (error) => {
    extra.isMarked = false;
    if (error !== null) return;
    drained(ws);
    if (extra.isDrainDue && !extra.isMarked) mark(ws, extra);
  });
}

/**
 * The bytes that wait may have fallen to half of the mark. Both the reactor and the marker report
 * that, and either report may concern bytes sent before an earlier 'drain'.
 *
 * @type {(ws: WebSocket) => void}
 */
function drained(ws) {
  if (!ws._extra?.isDrainDue || ws.bufferedAmount > LOW_WATER_MARK) return;
  ws._extra.isDrainDue = false;
  ws.emit('drain');
}

module.exports = { drained, hasRoom };

'use strict';

const { STREAM } = require('../bits');
const { EMPTY_BUFFER } = require('../constants');
const { HIGH_WATER_MARK, LOW_WATER_MARK, OUT_WRITE } = require('../reactor/layout');
const { push } = require('./post');
const { streamOf } = require('./state');

/** @import { ExtraFields, WebSocket } from './state' */

/**
 * Bytes that a subscriber sends between two queries of how many wait for it, as its topics are in
 * no count here: a query takes longer than a short send. 16 KiB.
 */
const ASKED_EVERY = 16 * 1024;

/**
 * Whether a WebSocket has room for more.
 *
 * @param {WebSocket} ws An open WebSocket
 * @returns {boolean} False if there is none: 'drain' follows
 */
function hasRoom(ws) {
  const extra = ws._ensureExtra();
  if ((ws._bits & STREAM) !== 0) return !streamOf(ws).socket.writableNeedDrain;
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
 * Makes the reactor report when all bytes sent until now have left. By itself it does so only if it
 * found HIGH_WATER_MARK bytes waiting, and it may have written some of them by then.
 *
 * @param {WebSocket} ws A connection of the reactor that has no room
 * @param {ExtraFields} extra Its `_extra`
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
 * @param {WebSocket} ws A connection of the reactor
 */
function drained(ws) {
  if (!ws._extra?.isDrainDue || ws.bufferedAmount > LOW_WATER_MARK) return;
  ws._extra.isDrainDue = false;
  ws.emit('drain');
}

module.exports = { drained, hasRoom };

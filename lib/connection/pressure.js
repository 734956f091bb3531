'use strict';

const { STREAM } = require('../bits');
const { EMPTY_BUFFER } = require('../constants');
const { HIGH_WATER_MARK, LOW_WATER_MARK, OUT_WRITE } = require('../reactor/layout');
const { push } = require('./post');
const { streamOf } = require('./state');
const { bytesTaken } = require('../reactor/crossing');

/** @import { ExtraFields, WebSocket } from './state' */

/**
 * Bytes of sends to a subscriber between two questions of how much was published to it: the answer
 * takes longer than a short send. 16 KiB.
 */
const ASKED_EVERY = 16 * 1024;

/**
 * Whether a WebSocket has room for more.
 *
 * @param {WebSocket} ws An open WebSocket
 * @returns {boolean} False: 'drain' follows
 */
function hasRoom(ws) {
  const extra = ws._ensureExtra();
  if ((ws._bits & STREAM) !== 0) return !streamOf(ws).socket.writableNeedDrain;
  if (ws._accepted + extra.lateBytes < extra.roomUntil) return true;
  if (extra.topics === null) extra.roomUntil = Math.max(bytesTaken(ws), 0) + HIGH_WATER_MARK;
  const waiting = ws.bufferedAmount;
  // How much is published to a subscriber is not known here, so the reactor is asked again soon.
  if (extra.topics !== null) extra.roomUntil = ws._accepted + Math.min(HIGH_WATER_MARK - waiting, ASKED_EVERY);
  if (waiting < HIGH_WATER_MARK) return true;
  extra.isDrainDue = true;
  if (!extra.isMarked) mark(ws, extra);
  return false;
}

/**
 * Has the reactor report when all that was sent until now has left. By itself it does so only if it
 * found HIGH_WATER_MARK bytes waiting, and it may have written some before.
 *
 * @param {WebSocket} ws A connection of the reactor that has no room
 * @param {ExtraFields} extra Its `_extra`
 */
function mark(ws, extra) {
  extra.isMarked = true;
  // An empty write, whose callback says that all before it has left.
  push(ws, OUT_WRITE, EMPTY_BUFFER, (error) => {
    extra.isMarked = false;
    if (error !== null) return;
    drained(ws);
    if (extra.isDrainDue && !extra.isMarked) mark(ws, extra);
  });
}

/**
 * The bytes that wait may have fallen to half of the mark. The reactor and the marker both say so,
 * and either may mean what was sent before an earlier 'drain'.
 *
 * @param {WebSocket} ws A connection of the reactor
 */
function drained(ws) {
  if (!ws._extra?.isDrainDue || ws.bufferedAmount > LOW_WATER_MARK) return;
  ws._extra.isDrainDue = false;
  ws.emit('drain');
}

module.exports = { drained, hasRoom };

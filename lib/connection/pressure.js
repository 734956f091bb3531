'use strict';

const { STREAM } = require('../bits');
const { EMPTY_BUFFER } = require('../constants');
const { HIGH_WATER_MARK, LOW_WATER_MARK, OUT_WRITE } = require('../reactor/layout');
const { push } = require('./post');
const { streamOf } = require('./state');
const { bytesTaken } = require('../reactor/crossing');

/** @import { ExtraFields, WebSocket } from './state' */

/**
 * Bytes given to a subscriber between two queries of how many wait for it: a query takes longer
 * than a short send, and messages from a history are in no other count. 16 KiB.
 */
const ASKED_EVERY = 16 * 1024;

/** Bytes of frames that the reactors were given so far for members of topics. */
const published = { bytes: 0 };

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
  const { topics } = extra;
  if (topics === null) {
    if (given < extra.roomUntil) return true;
    extra.roomUntil = Math.max(bytesTaken(ws), 0) + HIGH_WATER_MARK;
  } else if (given + published.bytes < topics.askAt) {
    return true;
  }
  const waiting = ws.bufferedAmount;
  // All that is published from now on may be for this subscriber.
  if (topics !== null) topics.askAt = given + published.bytes + Math.min(HIGH_WATER_MARK - waiting, ASKED_EVERY);
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

module.exports = { drained, hasRoom, published };

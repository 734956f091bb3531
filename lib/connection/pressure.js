'use strict';

const { STREAM } = require('../bits');
const { EMPTY_BUFFER, OUT_FLAG_WANT_SENT, OUT_WRITE } = require('../constants');
const outbox = require('../reactor/outbox');
const { addCallback } = require('./outgoing');
const { bytesTaken } = require('../reactor/table');

/** Unsent bytes of a connection from which on `send()` returns false; 'drain' follows at half of it. The reactor's too. */
const HIGH_WATER_MARK = 1024 * 1024;
const LOW_WATER_MARK = HIGH_WATER_MARK / 2;

/** A record of nothing that asks to be told when it has left. */
const MARKER = OUT_WRITE | (OUT_FLAG_WANT_SENT << 8);

/**
 * Whether a WebSocket has room for more. If not, 'drain' follows when it has.
 *
 * @param {any} ws
 * @returns {boolean}
 */
function hasRoom(ws) {
  const extra = ws._ensureExtra();
  if ((ws._bits & STREAM) !== 0) return !extra.stream.socket.writableNeedDrain;
  if (ws._accepted + extra.lateBytes < extra.roomUntil) return true;
  extra.roomUntil = Math.max(bytesTaken(ws), 0) + HIGH_WATER_MARK;
  if (ws.bufferedAmount < HIGH_WATER_MARK) return true;
  extra.isDrainDue = true;
  if (!extra.isMarked) mark(ws, extra);
  return false;
}

/**
 * The reactor speaks up only if it found that much waiting: it may have been quicker.
 *
 * @param {any} ws
 * @param {any} extra
 */
function mark(ws, extra) {
  extra.isMarked = true;
  outbox.pushBytes(ws._slot, ws._generation, MARKER, EMPTY_BUFFER);
  addCallback(ws, (/** @type {Error | null} */ error) => {
    extra.isMarked = false;
    if (error !== null) return;
    drained(ws);
    if (extra.isDrainDue && !extra.isMarked) mark(ws, extra);
  });
}

/**
 * What waits may have fallen to half of the mark. The reactor and the marker both say so, and either may mean what was sent
 * before an earlier 'drain'.
 *
 * @param {any} ws
 */
function drained(ws) {
  if (!ws._extra?.isDrainDue || ws.bufferedAmount > LOW_WATER_MARK) return;
  ws._extra.isDrainDue = false;
  ws.emit('drain');
}

module.exports = { HIGH_WATER_MARK, drained, hasRoom };

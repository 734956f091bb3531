'use strict';

// How a connection over a stream ends. What was read before is delivered; what the limits of its
// server hold back, at its rate, and for `closeTimeout` at most.

const { CLOSE_RECEIVED, TERMINATED } = require('../bits');
const { delay } = require('../checks');
const receive = require('../connection/receive');
const { endsBy } = require('../connection/cause');
const { CAUSE, FLAGS_SHIFT, IN_CLOSED } = require('../reactor/layout');

/** @import { StreamConnection, WebSocket } from '../connection/state' */

/**
 * Destroys the stream when closing takes too long. What is held back is delivered until then.
 *
 * @param {StreamConnection} connection A connection that closes, or whose peer has gone. If both,
 *   the time that has begun counts
 */
function startCloseTimer(connection) {
  // As in silence.js, what has come by then is read first.
  connection.closeTimer ??= setTimeout(setImmediate, delay(connection.ws._closeTimeout), cut, connection);
}

/**
 * What is held back is dropped: it would come all at once.
 *
 * @param {StreamConnection} connection A connection that has been closing for too long
 */
function cut({ gate, hasEnded, isFinished, socket, ws }) {
  if (isFinished) return;
  endsBy(ws, causeOfEnd(ws, hasEnded || socket._readableState.ended, CAUSE.CLOSE_TIMEOUT));
  gate?.shut();
  socket.destroy();
}

/**
 * The stream has closed. Bytes read are delivered, but none behind the last frame.
 *
 * @param {StreamConnection} connection The connection of the stream
 */
function streamClosed(connection) {
  connection.isOver = true;
  const { gate, socket, ws } = connection;
  // A paused stream may have been destroyed with bytes that were not read.
  const { endEmitted, length } = socket._readableState;
  connection.hasEnded = endEmitted;
  if (connection.failed || gate?.isShut || (ws._bits & (CLOSE_RECEIVED | TERMINATED)) !== 0) {
    connection.chunks = [];
    connection.isLagging = false;
    gate?.shut();
  } else if (length !== 0 && !endEmitted) {
    (gate ?? connection).chunks.push(socket.read(length));
  }
  if (gate?.isHolding()) startCloseTimer(connection);
  if (!connection.isParsing && !connection.isLagging) connection.parse();
}

/**
 * Reports the end, unless something is held back.
 *
 * @param {StreamConnection} connection A connection whose stream has closed, and all of whose
 *   chunks have been parsed
 */
function finish(connection) {
  if (connection.isFinished || connection.gate?.goesOn()) return;
  connection.isFinished = true;
  clearTimeout(connection.closeTimer);
  connection.engine.dispose();
  connection.releaser?.stop();
  const { failed, hasEnded, socket, ws } = connection;
  // Where ws must wait for the end of its receiver, other listeners of the stream's 'close' come
  // first.
  const tag = IN_CLOSED | (causeOfEnd(ws, hasEnded, socket.errored ? CAUSE.RESET : CAUSE.TERMINATE) << FLAGS_SHIFT);
  if (hasEnded || failed || (ws._bits & CLOSE_RECEIVED) !== 0) receive.closed(ws, tag);
  else process.nextTick(receive.closed, ws, tag);
}

/**
 * @param {WebSocket} ws The connection of a stream that has closed, or is about to
 * @param {boolean} hasEnded Whether the peer has ended its side
 * @param {number} other The cause if there is no better one
 * @returns {number} Why it ends, as the reactor would say
 */
function causeOfEnd({ _bits: bits }, hasEnded, other) {
  if ((bits & CLOSE_RECEIVED) !== 0) return CAUSE.CLOSED;
  if ((bits & TERMINATED) !== 0) return CAUSE.TERMINATE;
  return hasEnded ? CAUSE.FIN : other;
}

module.exports = { finish, startCloseTimer, streamClosed };

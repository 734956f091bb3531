'use strict';

// How a connection over a stream ends. What was read before is delivered; what the limits of its
// server hold back, at its rate, and for `closeTimeout` at most.

const { CLOSE_RECEIVED, TERMINATED } = require('../bits');
const { delay } = require('../checks');
const receive = require('../connection/receive');
const { IN_CLOSED } = require('../reactor/layout');

/** @import { StreamConnection } from '../connection/state' */

/**
 * Destroys the stream when closing takes too long. What is held back is delivered until then.
 *
 * @param {StreamConnection} connection A connection that closes, or whose peer has gone. If both,
 *   the time that has begun counts
 */
function startCloseTimer(connection) {
  connection.closeTimer ??= setTimeout(cut, delay(connection.ws._closeTimeout), connection);
}

/**
 * What is held back is dropped: it would come all at once.
 *
 * @param {StreamConnection} connection A connection that has been closing for too long
 */
function cut({ gate, socket }) {
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
  const { failed, hasEnded, ws } = connection;
  // Where ws must wait for the end of its receiver, other listeners of the stream's 'close' come
  // first.
  if (hasEnded || failed || (ws._bits & CLOSE_RECEIVED) !== 0) receive.closed(ws, IN_CLOSED);
  else process.nextTick(receive.closed, ws, IN_CLOSED);
}

module.exports = { finish, startCloseTimer, streamClosed };

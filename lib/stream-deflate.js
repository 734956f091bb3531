'use strict';

const { OUT_BINARY, OUT_TEXT } = require('./constants');
const { GONE, SENDS_WAIT, TERMINATED } = require('./inbound');
const { abandon, sendWaiting } = require('./sends');
const { endTurn } = require('./stream-engine');

/** Bytes that are compressed in one turn of the event loop, and of one message before the others get theirs. */
const TURN_BYTES = 256 * 1024;
const SLICE_BYTES = 64 * 1024;

const TAG_OF_FRAME = 0xffff;

/** Bytes that may still be compressed in this turn. */
let budget = TURN_BYTES;

/**
 * @param {number} tag
 * @returns {boolean} Whether it is that of a data frame
 */
function isData(tag) {
  const kind = tag & 0xff;
  return kind === OUT_TEXT || kind === OUT_BINARY;
}

/**
 * Compresses a data frame and writes it: at once, or, when it is long or much has been compressed in this turn, in slices.
 * What is sent behind it waits for it then.
 *
 * @param {any} connection A StreamConnection with permessage-deflate
 * @param {number} tag
 * @param {string | Uint8Array} data
 * @param {any} callback Called when the stream has written it
 * @returns {boolean} False: it is not to be compressed
 */
function postCompressed(connection, tag, data, callback) {
  const { engine } = connection;
  const bytes = typeof data === 'string' ? Buffer.from(data) : data;
  if (!engine.native.willCompress(tag & TAG_OF_FRAME, bytes.length)) return false;
  if (bytes.length > Math.min(budget, SLICE_BYTES)) {
    // A copy: the caller may use its memory again.
    compressLater(connection, tag, bytes === data ? Buffer.from(bytes) : bytes, callback);
  } else {
    connection.postPayload(tag, compress(engine, tag, bytes, true), callback);
  }
  return true;
}

/**
 * @param {any} engine
 * @param {number} tag
 * @param {Uint8Array} bytes
 * @param {boolean} isLast Whether they end the frame
 * @returns {number} Bytes of the compressed payload so far
 */
function compress(engine, tag, bytes, isLast) {
  if (budget === TURN_BYTES) setImmediate(beginTurn);
  budget = Math.max(budget - bytes.length - 1, 0);
  return engine.native.compress(tag & TAG_OF_FRAME, bytes, isLast);
}

function beginTurn() {
  budget = TURN_BYTES;
  endTurn();
}

/**
 * @param {any} connection
 * @param {number} tag
 * @param {Uint8Array} bytes
 * @param {any} callback
 */
function compressLater(connection, tag, bytes, callback) {
  const { engine, socket, ws } = connection;
  const extra = ws._ensureExtra();
  let next = 0;
  const advance = () => {
    if (socket.destroyed || (ws._bits & (GONE | TERMINATED)) !== 0) {
      abandon(extra, callback, new Error('The socket was closed while data was being compressed'));
      return;
    }
    if (budget === 0) {
      setImmediate(advance);
      return;
    }
    const slice = bytes.subarray(next, next + SLICE_BYTES);
    next += slice.length;
    const isLast = next === bytes.length;
    const length = compress(engine, tag, slice, isLast);
    if (!isLast) {
      setImmediate(advance);
      return;
    }
    extra.lateBytes -= bytes.length;
    ws._bits &= ~SENDS_WAIT;
    connection.postPayload(tag, length, callback);
    sendWaiting(ws);
  };
  extra.lateBytes += bytes.length;
  ws._bits |= SENDS_WAIT;
  setImmediate(advance);
}

/** Frees the compression contexts of a connection that has not used them for so long. */
class Releaser {
  /**
   * @param {any} engine
   * @param {number} delay Milliseconds; 0 is never
   */
  constructor(engine, delay) {
    this.engine = engine;
    this.delay = delay;
    this.timer = /** @type {NodeJS.Timeout | undefined} */ (undefined);
  }

  /** A message has gone one way or the other. */
  used() {
    if (this.delay === 0) return;
    if (this.timer === undefined) {
      this.timer = setTimeout(() => this.engine.native.releaseContexts(), this.delay);
      this.timer.unref();
    } else {
      this.timer.refresh();
    }
  }

  /** The connection is gone. */
  stop() {
    clearTimeout(this.timer);
    this.delay = 0;
  }
}

module.exports = { Releaser, isData, postCompressed };

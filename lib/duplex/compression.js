'use strict';

const { copyOf } = require('../connection/arguments');
const { endTurn } = require('./engine');
const { Turns } = require('./turns');
const { unshared } = require('../views');
const { abandon, arrived, expect, sendWaiting } = require('../connection/waiting');
const { AUX_SHIFT, KIND_MASK, OUT_BINARY, OUT_TEXT } = require('../reactor/layout');

/** @import { SentCallback, StreamConnection } from '../connection/state' */
/** @import { Engine } from './engine' */

/**
 * Bytes that are compressed in one turn of the event loop, and bytes of one message before the
 * others have their share.
 */
const TURN_BYTES = 256 * 1024;
const SLICE_BYTES = 64 * 1024;

const TAG_OF_FRAME = (1 << AUX_SHIFT) - 1;

/** A message that was compressed in one turn will hardly be sent again in the next. */
const deflating = new Turns({ bytes: TURN_BYTES, slice: SLICE_BYTES, alternates: true, onTurn: endTurn });

/** Messages that are being compressed, one of each connection. @type {Set<Job>} */
const jobs = new Set();

/**
 * @param {number} tag kind | flags | aux of the record
 * @returns {boolean} Whether it is that of a data frame
 */
function isData(tag) {
  const kind = tag & KIND_MASK;
  return kind === OUT_TEXT || kind === OUT_BINARY;
}

/**
 * Compresses a data frame and writes it when the handlers of this tick are done; a long one in
 * slices, in several turns of the event loop. Frames sent behind it wait for it.
 *
 * @param {StreamConnection} connection One with permessage-deflate
 * @param {number} tag kind | flags | aux of the record
 * @param {string | Uint8Array} data The payload
 * @param {SentCallback | undefined} callback Called when the stream has written it
 * @returns {boolean} False if the frame is not to be compressed
 */
function postCompressed(connection, tag, data, callback) {
  const { engine } = connection;
  const bytes = typeof data === 'string' ? Buffer.from(data) : unshared(data);
  if (!engine.native.willCompress(tag & TAG_OF_FRAME, bytes.length)) return false;
  if (connection.isCompressing && bytes.length <= Math.min(deflating.left, SLICE_BYTES)) {
    deflating.spend(connection.outgoing, bytes.length + 1);
    connection.postPayload(tag, compress(engine, tag, bytes, true), callback);
  } else {
    // A copy: the caller may use its memory again.
    connection.job = new Job(connection, tag, bytes === data ? copyOf(bytes) : bytes, callback);
  }
  return true;
}

/**
 * @param {Engine} engine The engine of the connection
 * @param {number} tag kind | flags | aux of the record
 * @param {Uint8Array} bytes The payload
 * @param {boolean} isLast Whether they end the frame
 * @returns {number} Bytes of the compressed payload so far
 */
function compress(engine, tag, bytes, isLast) {
  return engine.native.compress(tag & TAG_OF_FRAME, bytes, isLast);
}

/** @typedef {Job} CompressionJob */

/** A message that is being compressed. */
class Job {
  /**
   * @param {StreamConnection} connection The connection that the message is sent on
   * @param {number} tag kind | flags | aux of the record
   * @param {Uint8Array} bytes The payload
   * @param {SentCallback | undefined} callback Called when the stream has written it
   */
  constructor(connection, tag, bytes, callback) {
    this.connection = connection;
    this.tag = tag;
    this.bytes = bytes;
    this.callback = callback;
    this.next = 0;
    this.stint = connection.outgoing;
    expect(connection.ws, bytes.length);
    jobs.add(this);
    process.nextTick(begin, this);
  }

  /**
   * Its turn.
   *
   * @param {number} room Bytes
   */
  work(room) {
    if (!jobs.has(this)) return;
    if (this.connection.socket.destroyed) {
      this.abandon();
      return;
    }
    const { next, stint } = this;
    try {
      do this.advance();
      while (jobs.has(this) && this.next - next < room);
    } finally {
      stint.done = this.next - next + 1;
      stint.isMore = jobs.has(this);
    }
  }

  /**
   * Compresses the next slice; behind the last one, writes the frame and the sends that wait for
   * it.
   */
  advance() {
    const { bytes, callback, connection, tag } = this;
    const slice = bytes.subarray(this.next, this.next + SLICE_BYTES);
    this.next += slice.length;
    const isLast = this.next === bytes.length;
    let length;
    try {
      length = compress(connection.engine, tag, slice, isLast);
    } catch {
      this.abandon();
      connection.broke();
      return;
    }
    if (!isLast) return;
    const { ws } = connection;
    this.end();
    arrived(ws, bytes.length);
    connection.isCompressing = true;
    try {
      connection.postPayload(tag, length, callback);
      sendWaiting(ws);
      // The end of the last message that waits tells subscribers of topics that there is room.
      if (connection.job === null && !connection.socket.writableNeedDrain) ws._extra?.topics?.drained();
    } finally {
      connection.isCompressing = false;
    }
  }

  /** The stream is destroyed: the message fails, and so do the sends that wait for it. */
  abandon() {
    this.end();
    const error = new Error('The socket was closed while data was being compressed');
    abandon(this.connection.ws, this.bytes.length, this.callback, error);
  }

  end() {
    jobs.delete(this);
    this.connection.job = null;
  }
}

/** @param {Job} job The message; which may have been given up since */
function begin(job) {
  if (jobs.has(job)) deflating.enter(job);
}

/**
 * Compresses and writes a turn's share of the messages that wait: the process ends, and does not
 * wait for more.
 */
function finishSome() {
  let left = TURN_BYTES;
  for (const job of jobs) {
    while (left > 0 && jobs.has(job)) {
      const { next } = job;
      job.advance();
      left -= job.next - next + 1;
    }
  }
}

/** Frees the compression contexts of a connection that has not used them for some time. */
class Releaser {
  /**
   * @param {Engine} engine The engine of the connection
   * @param {number} delay Milliseconds; 0 is never
   */
  constructor(engine, delay) {
    this.engine = engine;
    this.delay = delay;
    this.timer = /** @type {NodeJS.Timeout | undefined} */ (undefined);
  }

  /** A message has come or gone. */
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

module.exports = { Releaser, finishSome, isData, postCompressed };

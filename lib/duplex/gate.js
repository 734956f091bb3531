'use strict';

// Not the global ones: a test may have put others in their place.
const { clearTimeout, setTimeout } = require('node:timers');

const { EMPTY_BUFFER } = require('../constants');
const { startCloseTimer } = require('./ending');
const { IN_CLOSE, IN_ERROR, KIND_MASK, OUT_RESUME } = require('../reactor/layout');

/** @import { StreamConnection } from '../connection/state' */
/** @import { Rates } from '../running/rates' */

/** The shortest frame of a client. */
const SHORTEST_FRAME = 6;

/** Milliseconds. */
const SECOND = 1000;

/** This many in a second, and as many at once. */
class Bucket {
  /** @param {number} perSecond The number of tokens per second */
  constructor(perSecond) {
    this.perSecond = perSecond;
    /** The time at which the bucket is full again, in milliseconds, if nothing is taken. */
    this.fullAt = 0;
  }

  /**
   * @param {number} now Milliseconds
   * @returns {number} The number of tokens
   */
  left(now) {
    const free = SECOND - Math.max(this.fullAt - now, 0);
    // What rounding has taken from one is given back.
    return Math.floor((Math.max(free, 0) * this.perSecond) / SECOND + 1e-6);
  }

  /**
   * @param {number} count The number of tokens taken
   * @param {number} now Milliseconds
   * @returns {boolean} Whether there were fewer
   */
  take(count, now) {
    const isOver = count > this.left(now);
    this.fullAt = Math.max(this.fullAt, now) + (count * SECOND) / this.perSecond;
    return isOver;
  }

  /**
   * @param {number} count The number of tokens wanted
   * @returns {number} The time at which there are enough, in milliseconds
   */
  due(count) {
    return this.fullAt - SECOND + Math.min((count * SECOND) / this.perSecond, SECOND);
  }
}

/**
 * Bytes of a stream that may not be parsed yet. The reactor does the same for its sockets, and does
 * not even read it (`src/reactor/read/paced.rs`).
 */
class Gate {
  /**
   * @param {StreamConnection} connection The connection that is limited
   * @param {InstanceType<typeof Rates>} rates The limits of its server
   */
  constructor(connection, rates) {
    this.connection = connection;
    this.rates = rates;
    this.messages = rates.messages === 0 ? null : new Bucket(rates.messages);
    this.bytes = rates.bytes === 0 ? null : new Bucket(rates.bytes);
    /** @type {Buffer[]} */
    this.chunks = [];
    /** Messages, pings and pongs in what is being parsed. */
    this.count = 0;
    /** Fragments before what is being parsed that count as messages. */
    this.fragments = 0;
    /** Bytes that were given to be parsed, and are not counted yet. */
    this.given = 0;
    this.isServing = false;
    /** The stream is not read until then. */
    this.timer = /** @type {NodeJS.Timeout | undefined} */ (undefined);
    /** Whether the stream is to be read again when all has been parsed. */
    this.isOwed = false;
    /** Whether nothing is parsed any more: what is held back is dropped. */
    this.isShut = false;
  }

  /** @param {Buffer} chunk The chunk that the stream has read */
  input(chunk) {
    this.chunks.push(chunk);
    this.serve();
  }

  /** @param {number} tag Tag of a record of the chunk being parsed */
  saw(tag) {
    const kind = tag & KIND_MASK;
    if (kind !== IN_CLOSE && kind !== IN_ERROR) this.count++;
  }

  /** Has all bytes parsed that may be. */
  serve() {
    if (this.isServing || this.isShut || this.timer !== undefined) return;
    this.isServing = true;
    let isDone = false;
    try {
      while (this.isCaughtUp() && this.account() && this.chunks.length !== 0 && this.next());
      isDone = true;
    } finally {
      this.isServing = false;
      // A handler has thrown, which ends the flow of the stream: it begins anew.
      if (!isDone) {
        this.pause();
        process.nextTick(serve, this);
      }
    }
    if (this.connection.isOver) return end(this.connection);
    if (!this.isOwed || this.isHolding()) return;
    this.isOwed = false;
    this.connection.command(OUT_RESUME);
  }

  /** @returns {boolean} Whether all that was given to be parsed has been */
  isCaughtUp() {
    const { chunks, isLagging, isParsing } = this.connection;
    return chunks.length === 0 && !isLagging && !isParsing;
  }

  /** @returns {boolean} False: the connection has sent too much, and is being closed */
  account() {
    const { connection, count, given, rates } = this;
    this.count = this.given = 0;
    if (given === 0 || connection.failed) return true;
    const now = performance.now();
    const small = connection.engine.native.smallFragments();
    // Fewer: they are of another message.
    const fragments = small < this.fragments ? small : small - this.fragments;
    const isTooMany = this.messages?.take(count + fragments, now) === true;
    const isTooLong = this.bytes?.take(given, now) === true;
    if (!rates.closes || !(isTooMany || isTooLong)) return true;
    rates.native.exceed(!isTooMany);
    this.chunks = [];
    connection.take(connection.engine.native.refuse(!isTooMany), EMPTY_BUFFER);
    return false;
  }

  /** @returns {boolean} False if the next bytes have to wait */
  next() {
    const { chunks, connection } = this;
    const room = connection.failed ? Infinity : this.room();
    if (room === 0) return false;
    const chunk = chunks[0];
    this.given = Math.min(room, chunk.length);
    this.fragments = connection.engine.native.smallFragments();
    if (room >= chunk.length) chunks.shift();
    else chunks[0] = chunk.subarray(room);
    connection.parseNext(room >= chunk.length ? chunk : chunk.subarray(0, room));
    return true;
  }

  /** @returns {number} The number of bytes that may be parsed; 0 for none at present */
  room() {
    const { bytes, connection, messages, rates } = this;
    const now = performance.now();
    // If one message too many ends the connection, that message is looked for.
    const more = Number(rates.closes);
    const left = messages === null ? Infinity : messages.left(now) + more;
    if (left === 0) return this.wait(/** @type {Bucket} */ (messages), 1, now, false);
    const room = bytes === null ? Infinity : bytes.left(now) + more;
    if (room === 0) {
      const { perSecond } = /** @type {Bucket} */ (bytes);
      return this.wait(/** @type {Bucket} */ (bytes), Math.max(perSecond / 10, 1), now, true);
    }
    if (left === Infinity) return room;
    const begun = connection.engine.native.missing() || SHORTEST_FRAME;
    return Math.min(room, begun + (left - 1) * SHORTEST_FRAME);
  }

  /**
   * @param {Bucket} bucket The bucket that is empty
   * @param {number} count The number of tokens wanted
   * @param {number} now Milliseconds
   * @param {boolean} isBytes Whether the tokens are bytes
   */
  wait(bucket, count, now, isBytes) {
    this.rates.native.exceed(isBytes);
    // A stream that is not read does not say that its peer has gone.
    if (this.connection.socket._readableState.ended) startCloseTimer(this.connection);
    this.pause();
    this.timer = setTimeout(goOn, Math.max(bucket.due(count) - now, 1), this);
    return 0;
  }

  /** The stream is not read until all has been parsed. */
  pause() {
    this.connection.socket.pause();
    this.isOwed = true;
  }

  /** @returns {boolean} Whether bytes wait here */
  isHolding() {
    return this.timer !== undefined || this.chunks.length !== 0;
  }

  /**
   * @returns {boolean} Whether the stream may be read; if not, it is read once nothing waits here
   */
  allowsReading() {
    this.isOwed ||= this.isHolding();
    return !this.isOwed;
  }

  /**
   * The stream has closed, and what was given to be parsed has been.
   *
   * @returns {boolean} Whether something is left, which is parsed at its rate
   */
  goesOn() {
    if (this.isServing) return true;
    if (!this.isHolding()) return false;
    this.serve();
    return true;
  }

  /** Drops what is held back. */
  shut() {
    this.isShut = true;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.chunks = [];
    if (this.connection.isOver) process.nextTick(end, this.connection);
  }
}

/**
 * @param {StreamConnection} connection The connection of a server, or of a client
 * @returns {Gate | null} The gate, which holds back bytes that come too fast; null without a limit
 */
function gateOf(connection) {
  const rates = connection.ws._owner?._rates ?? null;
  return rates === null ? null : new Gate(connection, rates);
}

/** @param {Gate} gate The gate that has waited long enough */
function goOn(gate) {
  gate.timer = undefined;
  gate.serve();
}

/** @param {Gate} gate The gate that goes on */
function serve(gate) {
  gate.serve();
}

/** @param {StreamConnection} connection A connection whose stream has closed */
function end(connection) {
  const { chunks, isLagging, isParsing } = connection;
  if (chunks.length === 0 && !isLagging && !isParsing) connection.caughtUp();
}

module.exports = { gateOf };

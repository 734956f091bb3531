'use strict';

const { addon } = require('../reactor/addon');
const { EMPTY_BUFFER, FastBuffer } = require('../constants');
const { limit } = require('../checks');
const {
  AUX_SHIFT,
  HEADROOM,
  IN_CLOSE,
  IN_ERROR,
  IN_FLAG_LAST_PART,
  IN_FLAG_OWNED,
  IN_PART,
  KIND_MASK,
  RECORD_WORDS,
  STREAM_HEADER,
  STREAM_RECORDS,
  STREAM_ROOM,
  STREAM_WORDS,
} = require('../reactor/layout');
const { shortLived } = require('../reactor/message-memory');
const { Parts } = require('./parts');

/** @import { Deflate } from '../deflate/options' */
/** @import { Arena } from '../reactor/crossing' */

/** @typedef {typeof import('../native/binding')} Binding */

/**
 * Makes a frame in a buffer, as `frame()` of the native `Streams` says.
 *
 * @callback FrameInPlace
 * @param {number} number Number of the engine
 * @param {number} tag That of the outbound record
 * @param {Uint8Array} buffer Memory with the payload
 * @param {number} start Offset of the payload
 * @param {number} length Bytes of the payload
 * @param {number} key The masking key
 * @returns {number} Offset of the frame
 */

/** The bits of a tag that the engine knows. */
const TAG_OF_FRAME = (1 << AUX_SHIFT) - 1;

/**
 * The memory to which the engines write the records of a call, and the header of a frame. It must
 * outlive them.
 */
const words = new Uint32Array(STREAM_WORDS);
const headerBytes = new Uint8Array(words.buffer, 4 * STREAM_HEADER);

let native = /** @type {Binding} */ (/** @type {unknown} */ (null));
/** The native object that all engines share. */
let streams = /** @type {import('../native/binding').Streams} */ (/** @type {unknown} */ (null));
/**
 * Functions of that: `(number, chunk) => count`, `(number, tag, length) => bytes`, and the one for
 * frames that are masked.
 */
let input = /** @type {(number: number, chunk: Uint8Array) => number} */ (/** @type {unknown} */ (null));
let header = /** @type {(number: number, tag: number, length: number) => number} */ (/** @type {unknown} */ (null));
let frameInPlace = /** @type {FrameInPlace} */ (/** @type {unknown} */ (null));

/**
 * The chunk whose records are being taken. When a handler makes another stream call the engine,
 * these records are moved before.
 */
let active = /** @type {Progress | null} */ (null);

/**
 * @typedef {object} Sink Where records go, in order
 * @property {(tag: number, data: Buffer) => void} take Gets the tag of a record and its payload
 * @property {(tag: number, data: Buffer) => void} takeLater Gets the remaining records when `take`
 * has thrown
 * @property {(error: Error) => void} broke The engine itself failed; the connection must end
 * @property {(chunk: Buffer) => void} pause Others come first: the rest of the chunk is to be
 *   parsed in another turn
 */

/**
 * How far a chunk has been taken.
 *
 * @typedef {object} Progress
 * @property {Uint32Array} records The records of a call, RECORD_WORDS words each
 * @property {number} count How many records there are
 * @property {number} next Index of the first that is not taken
 * @property {boolean} isAtEnd Whether the engine wants no further call
 * @property {boolean} isPaused Whether that is because others are first
 */

/** @typedef {StreamEngine} Engine */

/** The protocol state of one connection that does not belong to the reactor. */
class StreamEngine {
  /**
   * @param {boolean} isServer Which end of the connection this is
   * @param {{ maxPayload?: number, maxFragments?: number, skipUTF8Validation?: boolean }} options
   *   Bytes, frames; 0 is no limit
   * @param {Deflate | undefined} deflate The result of `negotiatedDeflate`
   */
  constructor(isServer, options, deflate) {
    if (native === null) load();
    const settings = /** @type {import('../native/binding').StreamOptions} */ ({
      deflate,
      isServer,
      maxPayload: limit(options.maxPayload),
      maxFragments: limit(options.maxFragments),
      skipUtf8Validation: !!options.skipUTF8Validation,
    });
    /** The native engine. */
    this.native = new native.StreamEngine(settings, streams);
    this.number = this.native.number;
    /**
     * Whether the engine may write to a chunk: it has been unmasked, and what was handed out of it
     * is known.
     */
    this.ownsChunks = isServer && deflate === undefined;
    /** Whether messages may be compressed. */
    this.isDeflating = deflate !== undefined;
    /**
     * Bytes that may still be inflated before others are served. The caller sets them before it has
     * a chunk parsed.
     */
    this.room = 0;
    /** Bytes inflated, and whether there were records, since the caller last reset both. */
    this.inflated = 0;
    this.hasReported = false;
    /** Parts of the message that is coming in. @type {InstanceType<typeof Parts> | null} */
    this.parts = null;
  }

  /**
   * Parses a chunk.
   *
   * @param {Buffer} chunk Unmasked in place; payloads are views of it. One that `sink.pause` got is
   *   parsed from where it was left
   * @param {Sink} sink The receiver of the records of the chunk
   */
  parse(chunk, sink) {
    const outer = active;
    if (outer !== null && outer.records === words) outer.records = words.slice(0, RECORD_WORDS * outer.count);
    const progress = { records: words, next: 0, count: 0, isAtEnd: false, isPaused: false };
    active = progress;
    let isDone = false;
    try {
      parseOn(this, chunk, sink, progress, false);
      isDone = true;
    } finally {
      // An engine that has given all records of a chunk would read it as a new one.
      const isMore = progress.next < progress.count || !progress.isAtEnd;
      if (!isDone && isMore) parseOn(this, chunk, sink, progress, true);
      else if (!isDone && progress.isPaused) sink.pause(chunk);
      active = outer;
    }
  }

  /**
   * Makes a frame.
   *
   * @param {number} tag That of the outbound record
   * @param {string | Uint8Array} data The payload
   * @param {number} length Bytes of it
   * @param {number | undefined} key The masking key, if it is to be masked
   * @param {Buffer | null} block Memory for the frame, if there is room in it
   * @returns {Buffer} The frame; a view of `block`, if that was given
   */
  frame(tag, data, length, key, block) {
    const start = key === undefined ? header(this.number, tag & TAG_OF_FRAME, length) : HEADROOM;
    const bytes = start + length;
    const buffer = block === null ? Buffer.allocUnsafe(bytes) : new FastBuffer(block.buffer, 0, bytes);
    if (typeof data === 'string') /** @type {Arena} */ (buffer).utf8Write(data, start);
    else if (length !== 0) buffer.set(data, start);
    if (key !== undefined) {
      return buffer.subarray(frameInPlace(this.number, tag & TAG_OF_FRAME, buffer, start, length, key));
    }
    for (let index = 0; index < start; index++) buffer[index] = headerBytes[index];
    return buffer;
  }

  /**
   * @param {number} tag That of the outbound record
   * @param {number} length Bytes of the payload
   * @returns {Buffer} The header of a frame that is not masked
   */
  header(tag, length) {
    return Buffer.from(headerBytes.subarray(0, header(this.number, tag & TAG_OF_FRAME, length)));
  }

  /**
   * Makes a frame of the bytes that the engine has compressed.
   *
   * @param {number} tag kind | flags | aux of the record
   * @param {number} length Bytes of it
   * @param {number | undefined} key The masking key, if it is to be masked
   * @returns {Buffer} The frame
   */
  compressedFrame(tag, length, key) {
    const buffer = Buffer.allocUnsafe(HEADROOM + length);
    return buffer.subarray(this.native.frameCompressed(tag & TAG_OF_FRAME, buffer, HEADROOM, key));
  }

  /** The connection is gone. */
  dispose() {
    this.parts = null;
    this.native.dispose();
  }
}

function load() {
  native = addon();
  streams = new native.Streams(words);
  input = streams.input();
  header = streams.header();
  frameInPlace = streams.frame();
}

/** Forgets the messages compressed in this turn: they will hardly be sent again. */
function endTurn() {
  streams.endTurn();
}

/**
 * @param {StreamEngine} engine The engine of the connection
 * @param {Buffer} chunk The chunk that the stream has read
 * @param {Sink} sink The receiver of the records
 * @param {Progress} progress How far the chunk has been taken
 * @param {boolean} isLate Whether records go to `takeLater`, because `take` has thrown
 */
function parseOn(engine, chunk, sink, progress, isLate) {
  while (progress.next < progress.count || !progress.isAtEnd) {
    if (progress.next === progress.count) callEngine(engine, chunk, sink, progress);
    while (progress.next < progress.count) {
      const { records } = progress;
      const word = RECORD_WORDS * progress.next++;
      const tag = records[word + 1];
      const offset = records[word + 2];
      const length = records[word + 3];
      if ((tag & KIND_MASK) === IN_PART) {
        if (engine.parts === null) engine.parts = new Parts();
        // With nothing but its header before it, and no other record, it is all of the chunk.
        const isAlone = progress.count === 1 && offset <= HEADROOM;
        engine.parts.add(chunk, offset, length, isAlone && engine.ownsChunks);
        continue;
      }
      const data = payload(engine, chunk, tag, offset, length);
      if (isLate) sink.takeLater(tag, data);
      else sink.take(tag, data);
    }
  }
  if (progress.isPaused) sink.pause(chunk);
}

/**
 * @param {StreamEngine} engine The engine of the connection
 * @param {Buffer} chunk The chunk that the stream has read
 * @param {Sink} sink The receiver of a failure of the engine
 * @param {Progress} progress The place for the count of records
 */
function callEngine(engine, chunk, sink, progress) {
  progress.records = words;
  progress.next = progress.count = 0;
  progress.isAtEnd = true;
  try {
    if (engine.isDeflating) words[STREAM_ROOM] = engine.room;
    const count = input(engine.number, chunk);
    if (engine.isDeflating) {
      const used = words[STREAM_ROOM];
      engine.inflated += used;
      engine.room = Math.max(engine.room - used, 0);
    }
    progress.isPaused = count < 0;
    progress.count = progress.isPaused ? -count - 1 : count;
    progress.isAtEnd = count !== STREAM_RECORDS;
    engine.hasReported ||= progress.count !== 0;
  } catch (error) {
    sink.broke(/** @type {Error} */ (error));
  }
}

/**
 * @param {StreamEngine} engine The engine of the connection
 * @param {Buffer} chunk The chunk that the stream has read
 * @param {number} tag kind | flags | aux of the record
 * @param {number} offset Offset of the payload in the chunk; with IN_FLAG_OWNED its number among
 *   the owned
 * @param {number} length Bytes of the payload
 * @returns {Buffer} A view of the chunk, or memory of its own
 */
function payload(engine, chunk, tag, offset, length) {
  const kind = tag & KIND_MASK;
  const { parts } = engine;
  if (parts !== null) {
    // Nothing follows an error or a close frame.
    const isLast = (tag & IN_FLAG_LAST_PART) !== 0;
    if (isLast || kind === IN_CLOSE || kind === IN_ERROR) engine.parts = null;
    if (isLast && kind !== IN_ERROR) return parts.end(chunk, offset, length);
  }
  if (length === 0) return EMPTY_BUFFER;
  if ((tag & IN_FLAG_OWNED) === 0) return new FastBuffer(chunk.buffer, chunk.byteOffset + offset, length);
  const data = Buffer.allocUnsafeSlow(length);
  shortLived(length);
  engine.native.takeLarge(offset, data);
  return data;
}

module.exports = { StreamEngine, endTurn };

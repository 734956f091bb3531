'use strict';

const { CLIENT, CLOSE_RECEIVED, CLOSE_SENT, GONE, HALTED, HOLDING, NOT_PLAIN } = require('../bits');
const { inContext } = require('../async-context');
const { EMPTY_BUFFER } = require('../constants');
const { emitMessage } = require('../reactor/diagnostics');
const { endsBy } = require('../connection/cause');
const { negotiatedDeflate } = require('../deflate/options');
const receive = require('../connection/receive');
const { maskKey } = require('./mask-key');
const { MASK_FLIPPED, toBytes } = require('../connection/arguments');
const {
  CAUSE,
  IN_BINARY,
  IN_TEXT,
  KIND_MASK,
  OUT_CLOSE,
  OUT_END,
  OUT_FLAG_FIN,
  OUT_PAUSE,
  OUT_RESUME,
  OUT_TERMINATE,
} = require('../reactor/layout');
const { Cork } = require('./cork');
const { Releaser, isData, postCompressed } = require('./compression');
const ending = require('./ending');
const { StreamEngine } = require('./engine');
const { LEAST_SHARED, sharedCopy } = require('./copies');
const { gateOf } = require('./gate');
const { sendBudget } = require('./send-budget');
const { shortLived } = require('../reactor/message-memory');
const { silenceOf } = require('./silence');
const { Stint, inflating } = require('./turns');
const { lengthOf, unshared } = require('../views');

/** @import { AnySocket, SentCallback, WebSocket } from '../connection/state' */
/** @import { CompressionJob } from './compression' */

/**
 * The options of `setSocket()`.
 *
 * @typedef {object} SocketOptions
 * @property {boolean} [allowSynchronousEvents] Whether records of a chunk are emitted in one turn;
 *   true by default
 * @property {number} [maxPayload] Bytes of a message; 0, the default, is no limit
 * @property {number} [maxFragments] Frames of a message; 0, the default, is no limit
 * @property {boolean} [skipUTF8Validation] Whether text is not checked; false by default
 * @property {(mask: Buffer) => void} [generateMask] Fills the masking key of a client; random bytes
 *   by default
 */

/**
 * A connection over a stream of Node: TLS, a pipe, any Duplex. It runs the engine on this thread
 * and hands on the same records as the reactor does for its sockets.
 */
class StreamConnection {
  /**
   * @param {WebSocket} ws The WebSocket that gets the connection
   * @param {AnySocket} socket The stream, a Duplex; its readable state is read
   * @param {SocketOptions} options As given to `setSocket()`
   */
  constructor(ws, socket, options) {
    this.ws = ws;
    this.socket = socket;
    /** The listener of its 'data'. @type {((chunk: Buffer) => void) | null} */
    this.reader = null;
    const deflate = negotiatedDeflate(ws);
    this.engine = new StreamEngine((ws._bits & CLIENT) === 0, options, deflate);
    this.isDeflating = deflate !== undefined;
    /** Its place among the streams that inflate, and among those that compress. */
    this.stint = new Stint();
    this.outgoing = new Stint();
    this.releaser = deflate && new Releaser(this.engine, deflate.settings.releaseAfter);
    /** The message that is being compressed. @type {CompressionJob | null} */
    this.job = null;
    /** Whether that message is done, and what waited for it is being sent. */
    this.isCompressing = false;
    this.generateMask = options.generateMask;
    this.closeTimer = /** @type {NodeJS.Timeout | undefined} */ (undefined);
    /** Whether the peer broke the protocol. */
    this.failed = false;
    this.silence = silenceOf(this);
    this.gate = gateOf(this);
    this.cork = new Cork(socket);
    this.isParsing = false;
    /**
     * Chunks that wait: handlers of an earlier one run, or it inflates so much that other streams
     * come first.
     *
     * @type {Buffer[]}
     */
    this.chunks = [];
    /** Whether the first of these chunks goes on in another turn. */
    this.isLagging = false;
    /** Whether the stream is not read because of that. */
    this.isThrottled = false;
    /** Whether the stream has closed, and whether it had ended before. */
    this.isOver = false;
    this.hasEnded = false;
    /** Whether its end has been reported, or is about to be. */
    this.isFinished = false;
  }

  /**
   * Takes bytes from the peer.
   *
   * @param {Buffer} chunk Bytes, which are unmasked in place
   */
  input(chunk) {
    shortLived(chunk.length);
    if (this.silence !== null) this.silence.heard();
    if (this.gate !== null) {
      this.gate.input(chunk);
      return;
    }
    let isDone = false;
    try {
      this.parseNext(chunk);
      isDone = true;
    } finally {
      if (!isDone) this.flowAnew();
    }
  }

  /** A handler has thrown, which ends the flow of the stream: what it has read would stay there. */
  flowAnew() {
    if (this.isOver || this.socket.isPaused()) return;
    this.socket.pause();
    process.nextTick(() => this.command(OUT_RESUME));
  }

  /** @param {Buffer} chunk The bytes that may be parsed */
  parseNext(chunk) {
    this.chunks.push(/** @type {Buffer} */ (unshared(chunk)));
    if (!this.isParsing && !this.isLagging) this.parse();
  }

  /** Parses what has come, unless streams that inflate less come first. */
  parse() {
    if (!this.isDeflating || this.chunks.length === 0) {
      this.parseAll();
      return;
    }
    this.isLagging = true;
    if (!inflating.enter(this)) this.throttle();
  }

  /**
   * Its turn to inflate.
   *
   * @param {number} room Bytes
   */
  work(room) {
    const { engine, stint } = this;
    // The chunks were dropped meanwhile.
    if (!this.isLagging) return;
    // Messages that are emitted one by one are not inflated before: they would take memory.
    if ((this.ws._bits & HOLDING) !== 0) {
      stint.isMore = true;
      return;
    }
    this.isLagging = engine.hasReported = false;
    engine.inflated = 0;
    engine.room = room;
    try {
      this.parseAll();
    } finally {
      stint.done = engine.inflated;
      stint.isMore = this.isLagging;
      stint.isAnew = engine.hasReported;
    }
  }

  parseAll() {
    this.isParsing = true;
    this.cork.hold();
    try {
      while (!this.isLagging && this.chunks.length !== 0) {
        this.engine.parse(/** @type {Buffer} */ (this.chunks.shift()), this);
      }
    } finally {
      this.isParsing = false;
      try {
        inContext(this.ws, release, this.cork);
      } finally {
        this.parsed();
      }
    }
  }

  /** The handlers of what was parsed have run; one of them may have thrown. */
  parsed() {
    this.releaser?.used();
    const { _bits: bits } = this.ws;
    const extra = this.ws._ensureExtra();
    if ((bits & HOLDING) !== 0 && (bits & GONE) === 0 && !extra.throttled) {
      extra.throttled = true;
      this.socket.pause();
    }
    if (this.isLagging) return;
    if (this.chunks.length !== 0) process.nextTick(parseRest, this);
    else this.caughtUp();
  }

  /** @param {Buffer} chunk The bytes left to parse */
  pause(chunk) {
    this.chunks.unshift(chunk);
    this.isLagging = true;
    this.throttle();
  }

  /** The stream is not read until all that was read of it has been parsed. */
  throttle() {
    if (this.isThrottled || this.isOver) return;
    this.isThrottled = true;
    this.socket.pause();
  }

  /** All that was read has been parsed. */
  caughtUp() {
    if (this.isOver) {
      ending.finish(this);
      return;
    }
    if (this.isThrottled) {
      this.isThrottled = false;
      this.command(OUT_RESUME);
      this.ws._extra?.receiver?.emit('drain');
    }
    this.gate?.serve();
  }

  /**
   * @param {number} tag kind | flags | aux of the record
   * @param {Buffer} data Its payload
   */
  take(tag, data) {
    const { ws } = this;
    const kind = tag & KIND_MASK;
    if (this.gate !== null) this.gate.saw(tag);
    if ((kind === IN_TEXT || kind === IN_BINARY) && (ws._bits & NOT_PLAIN) === 0) {
      emitMessage(ws, data, kind === IN_BINARY);
      return;
    }
    receive.arrived(ws, tag, data);
  }

  /**
   * @param {number} tag kind | flags | aux of the record
   * @param {Buffer} data Its payload
   */
  takeLater(tag, data) {
    if (this.gate !== null) this.gate.saw(tag);
    receive.hold(this.ws, tag, data);
  }

  /** The engine failed: that ends this connection and nothing else. */
  broke() {
    endsBy(this.ws, CAUSE.PANIC);
    this.failed = true;
    this.socket.destroy();
  }

  /**
   * Does what the reactor does for a record without payload.
   *
   * @param {number} kind OUT_PAUSE, OUT_RESUME, OUT_END or OUT_TERMINATE
   */
  command(kind) {
    if (kind === OUT_PAUSE) {
      this.socket.pause();
    } else if (kind === OUT_RESUME) {
      if ((this.ws._bits & HALTED) === 0 && !this.ws._extra?.throttled && !this.isThrottled && this.gate?.allowsReading() !== false) this.socket.resume();
    } else if (kind === OUT_END) {
      this.socket.end();
    } else if (kind === OUT_TERMINATE) {
      this.cork.pull();
      this.socket.destroy();
    }
  }

  /**
   * Writes a frame.
   *
   * @param {number} tag kind | flags << 8, and whether it is masked against the rule
   * @param {string | Uint8Array} data The payload
   * @param {SentCallback} [callback] Called when the stream has written it
   */
  post(tag, data, callback) {
    if (sendBudget.bytes !== 0) sendBudget.sent(this);
    if (typeof data !== 'string' && data.length !== lengthOf.call(data)) data = toBytes(data);
    if (this.isDeflating && isData(tag) && postCompressed(this, tag, data, callback)) return;
    const length = typeof data === 'string' ? Buffer.byteLength(data) : data.length;
    const block = this.cork.borrow(length);
    if (block === null && this.isShared(tag, data, length)) {
      this.cork.writeAll([this.engine.header(tag, length), sharedCopy(data)], callback);
      return;
    }
    this.cork.write(this.engine.frame(tag, data, length, this.key(tag), block), callback, block);
  }

  /**
   * @param {number} tag kind | flags | aux of the record
   * @param {string | Uint8Array} data The payload
   * @param {number} length Bytes of it
   * @returns {data is Uint8Array} Whether other connections may be sent the same memory: the stream
   * shows it to no one, and it is not masked
   */
  isShared(tag, data, length) {
    return this.cork.lendsMemory && length >= LEAST_SHARED && typeof data !== 'string' && !this.isMasked(tag);
  }

  /**
   * Writes the frame of a payload that the engine has compressed.
   *
   * @param {number} tag kind | flags | aux of the record
   * @param {number} length Bytes of it
   * @param {SentCallback | undefined} callback Called when the stream has written it
   */
  postPayload(tag, length, callback) {
    const frame = this.engine.compressedFrame(tag, length, this.key(tag));
    this.releaser?.used();
    this.cork.write(frame, callback);
  }

  /**
   * @param {number} tag Of a frame
   * @returns {number | undefined} The masking key, if it is to be masked
   */
  key(tag) {
    return this.isMasked(tag) ? maskKey(this.generateMask) : undefined;
  }

  /**
   * @param {number} tag Of a frame
   * @returns {boolean} Whether it is masked: by a client, unless the tag says otherwise
   */
  isMasked(tag) {
    return ((this.ws._bits & CLIENT) !== 0) !== ((tag & MASK_FLIPPED) !== 0);
  }

  /**
   * Sends a close frame.
   *
   * @param {number | undefined} code Status code (RFC 6455, 7.4); undefined for a frame without a
   *   body
   * @param {Uint8Array} reason At most 123 bytes; without effect if there is no code
   */
  close(code, reason) {
    let body = EMPTY_BUFFER;
    if (code !== undefined) {
      body = Buffer.allocUnsafe(2 + reason.length);
      body.writeUInt16BE(code, 0);
      body.set(reason, 2);
    }
    this.post(OUT_CLOSE | OUT_FLAG_FIN, body, (error) => {
      // The listener of the stream's 'error' deals with it.
      if (error) return;
      this.ws._bits |= CLOSE_SENT;
      this.endIfDone();
    });
  }

  /** Ends the stream once the closing handshake is done. */
  endIfDone() {
    const { _bits: bits } = this.ws;
    if ((bits & CLOSE_SENT) !== 0 && ((bits & CLOSE_RECEIVED) !== 0 || this.failed)) this.socket.end();
  }

  startCloseTimer() {
    ending.startCloseTimer(this);
  }

  /** The peer has sent its last frame: later bytes are dropped, so that its end is seen. */
  stopReading() {
    if ((this.ws._bits & GONE) !== 0) return;
    this.socket.removeListener('data', /** @type {(chunk: Buffer) => void} */ (this.reader));
    process.nextTick(resume, this.socket);
  }
}

/**
 * @param {WebSocket} _ws Not used: as `inContext` calls it
 * @param {InstanceType<typeof Cork>} cork The cork of the stream
 */
function release(_ws, cork) {
  cork.release();
}

/** @param {StreamConnection} connection A connection whose handlers have run */
function parseRest(connection) {
  const { chunks, isLagging, isParsing } = connection;
  if (chunks.length !== 0 && !isParsing && !isLagging) connection.parse();
}

/** @param {import('node:stream').Duplex} socket A stream whose data is dropped */
function resume(socket) {
  socket.resume();
}

module.exports = { StreamConnection };

'use strict';

const net = require('node:net');
const tls = require('node:tls');
// Not the global ones, which a test can replace.
const { clearInterval, clearTimeout, setInterval, setTimeout } = require('node:timers');

const { PAUSED, PEER_DONE, TERMINATED } = require('../base/bits');
const { inContext } = require('../base/async-context');
const { MAX_DELAY, delay } = require('../base/checks');
const { KEY_BYTES, callAll } = require('../connection/enqueue');
const { onDrainRecord } = require('../connection/backpressure');
const receive = require('../connection/receive');
const { streamEvent } = require('../reactor/exchange');
const { take, turn } = require('../reactor/dispatch');
const { copyOf, isScarce, rethrows, viewOf, written } = require('../reactor/stream-ops');
const {
  CAUSE,
  FLAGS_SHIFT,
  OP_END,
  OP_RESUME,
  IN_CLOSED,
  KIND_MASK,
  OUT_PAUSE,
  OUT_RESUME,
  OUT_TERMINATE,
  STREAM_CLOSED,
  STREAM_DRAINED,
  STREAM_ENDED,
  STREAM_FULL,
  STREAM_HUNG_UP,
} = require('../base/layout');
const { unshared } = require('../base/views');

/** @import { AnySocket, WebSocket } from '../connection/state' */
/** @import { Block } from '../reactor/stream-ops' */

/** Bytes: copying fewer costs less than a callback. */
const MIN_LENT = 512;

// Life of a stream: open; closed; after its last event.
const LIVE = 0;
const CLOSED = 1;
const OVER = 2;

/** Milliseconds between checks of whether the peer of an unread stream has ended its side. */
const POLL_MILLISECONDS = 100;

/** Bytes of a write that can be a part of a message. */
const MIN_PART = 16 * 1024;

/** Methods that `write()` of a stream can pass through. @type {['write', '_write', '_writev', 'cork', 'uncork']} */
const METHODS = ['write', '_write', '_writev', 'cork', 'uncork'];
const ORIGINALS = METHODS.map((name) => net.Socket.prototype[name]);

/**
 * Whether it is Node's, with nothing in between: it does not need a chunk's memory once it reports the write. Any other
 * might have passed the chunk on.
 *
 * @param {AnySocket} socket
 */
function isNodes(socket) {
  const prototype = Object.getPrototypeOf(socket);
  return (
    (prototype === net.Socket.prototype || prototype === tls.TLSSocket.prototype) &&
    METHODS.every((name, index) => socket[name] === ORIGINALS[index])
  );
}

/**
 * Between a stream of Node (TLS, a pipe, any Duplex) and its connection in the reactor of this thread: chunks in, bytes
 * out, ends, and back-pressure.
 */
class Pump {
  /**
   * @param {WebSocket} ws
   * @param {AnySocket} socket
   * @param {(mask: Buffer) => void} [generateMask] For a client
   */
  constructor(ws, socket, generateMask) {
    this.ws = ws;
    this.socket = socket;
    this.generateMask = generateMask;
    /** As in ws, `generateMask` finds the key before, or zeros. */
    this.maskKey = Buffer.alloc(generateMask === undefined ? 0 : KEY_BYTES);
    this.lendsMemory = isNodes(socket);
    /** Blocks of failed writes, until the stream has closed: it can use their memory. @type {Block[]} */
    this.failed = [];
    /** Whether the reactor has bytes that it must not read yet. */
    this.isThrottled = false;
    /** Whether the stream takes no more bytes. */
    this.isFull = false;
    this.life = LIVE;
    /** Whether the peer's end was seen. */
    this.hasEnded = false;
    /** The record that ended the connection in the reactor; 0 before. */
    this.closed = 0;
    /** Whether the reactor has destroyed the stream before that: at the end of `closeTimeout`. */
    this.isLate = false;
    /** @type {NodeJS.Timeout | undefined} */
    this.timer = undefined;
    /** While throttled. @type {NodeJS.Timeout | undefined} */
    this.pollTimer = undefined;
    /** While closing: keeps the process alive. @type {NodeJS.Timeout | undefined} */
    this.stays = undefined;
  }

  /** @param {Buffer} chunk */
  take(chunk) {
    let isDone = false;
    try {
      if (!this.isRead(chunk)) this.throttle();
      turn(true);
      isDone = true;
    } finally {
      if (!isDone && this.life === LIVE && !this.socket.isPaused()) this.restart();
    }
  }

  /** A handler that throws stops the flow of the stream. Methods of the stream that throw too must not hide that. */
  restart() {
    const go = (/** @type {() => void} */ step) => {
      try {
        step();
      } catch {
        // As in ws, it flows no more.
      }
    };
    go(() => {
      this.socket.pause();
      process.nextTick(go, () => this.goOn());
    });
  }

  /** Returns false if the stream is not to be read for now. @param {Buffer} chunk */
  isRead(chunk) {
    try {
      return take(this.ws, unshared(chunk));
    } catch {
      // Not bytes: ends only this connection, as a part of its bytes is missing.
      this.ws.terminate();
      return true;
    }
  }

  throttle() {
    this.isThrottled = true;
    this.socket.pause();
    // An unread stream does not report its peer's end. The reactor reads the rest in a later turn, for which
    // nothing else might keep the process alive.
    this.pollTimer ??= setInterval(() => this.poll(), POLL_MILLISECONDS);
  }

  /** The stream can have more before its end: then that is reported when it is read. */
  poll() {
    if (this.life !== LIVE || this.hasEnded || !this.socket._readableState.ended) return;
    this.hasEnded = true;
    this.report(STREAM_HUNG_UP);
  }

  stopLooking() {
    clearInterval(this.pollTimer);
    this.pollTimer = undefined;
  }

  /** @param {number} event One of `STREAM_` */
  report(event) {
    if (this.closed !== 0) return;
    streamEvent(this.ws, event);
    if (event !== STREAM_FULL) turn(true);
  }

  /** @type {(block: Block, start: number, length: number, count: number) => void} */
  write(block, start, length, count) {
    const { socket } = this;
    // A program can replace a method at any time.
    const lends = this.lendsMemory && length >= MIN_LENT && !isScarce() && isNodes(socket);
    const bytes = lends ? viewOf(block, start, length) : copyOf(block, start, length);
    const report = lends || count !== 0 ? this.reporter(lends ? block : null, count) : undefined;
    if (length >= MIN_PART && this.lendsMemory && !(socket instanceof tls.TLSSocket) && isNodes(socket)) this.cork();
    let isRoom;
    try {
      isRoom = report === undefined ? socket.write(bytes) : socket.write(bytes, report);
    } catch (error) {
      if (rethrows(error)) return;
      if (report !== undefined) process.nextTick(report, error);
      socket.destroy(/** @type {Error} */ (error));
      return;
    }
    if (!isRoom && !this.isFull && this.life === LIVE) {
      this.isFull = true;
      this.report(STREAM_FULL);
    }
  }

  /** A socket of Node that takes each part of a message at once emits no 'drain', which one write of ws brings. */
  cork() {
    const { socket } = this;
    if (socket.writableCorked !== 0) return;
    socket.cork();
    process.nextTick(() => socket.uncork());
  }

  /**
   * Makes the callback of a write. The callback releases `block`, which the write uses, and calls the callbacks of the
   * `count` oldest sends.
   *
   * @type {(block: Block | null, count: number) => (error?: Error | null) => void}
   */
  reporter(block, count) {
    const callbacks = count === 0 ? [] : (this.ws._extra?.callbacks?.take(count) ?? []);
    if (block !== null) block.writes++;
    let isCalled = false;
    return (error) => {
      // For a write that is made in the callback of one that failed, Node first reports that it
      // failed too, and then how it went.
      if (isCalled) return;
      isCalled = true;
      if (block !== null) {
        if (error && this.life === LIVE) this.failed.push(block);
        else written(block);
      }
      callAll(callbacks, 0, error ?? undefined);
    };
  }

  /** @param {number} kind One of `OP_` */
  applyOp(kind) {
    if (kind === OP_END) {
      this.socket.end();
    } else if (kind === OP_RESUME) {
      this.isThrottled = false;
      this.stopLooking();
      this.goOn();
      this.ws._extra?.receiver?.emit('drain');
    } else {
      this.isLate = this.closed === 0;
      this.socket.destroy();
    }
  }

  /** Resumes the stream, as far as the reactor is concerned. */
  goOn() {
    if (!this.isThrottled && this.life === LIVE && (this.ws._bits & PAUSED) === 0 && !this.ws._extra?.buffered?.isFull) this.socket.resume();
  }

  /** The program, or its queue of messages, stops or continues; or it ends what the reactor has ended. @param {number} kind */
  command(kind) {
    if (kind === OUT_PAUSE) this.socket.pause();
    else if (kind === OUT_RESUME) this.goOn();
    else if (kind === OUT_TERMINATE && this.closed !== 0) this.socket.destroy();
  }

  /** The peer's last frame has arrived. Later bytes are dropped, so that its end is seen. */
  stopReading() {
    if (this.life !== LIVE) return;
    this.socket.removeListener('data', onData);
    process.nextTick(() => this.socket.resume());
  }

  /** Takes everything from now on: nothing runs after 'exit'. */
  takeAll() {
    this.isFull = true;
    if (this.closed === 0) streamEvent(this.ws, STREAM_DRAINED);
  }

  drained() {
    this.isFull = false;
    this.report(STREAM_DRAINED);
    onDrainRecord(this.ws);
  }

  ended() {
    this.hasEnded = true;
    this.report(STREAM_ENDED);
  }

  /** A close frame is sent. As in ws, the process waits for the peer; the reactor's deadline does not keep it alive. */
  closes() {
    if (this.life === LIVE && this.closed === 0) this.stays ??= setInterval(() => {}, MAX_DELAY);
  }

  /** The reactor has ended the connection. @param {number} tag */
  isClosed(tag) {
    clearInterval(this.stays);
    if (this.closed === 0) {
      this.closed = this.life === LIVE ? tag : this.tagOfEnd(tag);
      this.stopLooking();
    }
    if (this.life === OVER) return true;
    if (this.life === LIVE) this.timer ??= setTimeout(() => this.socket.destroy(), delay(this.ws._closeTimeout));
    return false;
  }

  /** The stream has closed. Delivers the bytes read before. */
  over() {
    const { socket, ws } = this;
    clearTimeout(this.timer);
    clearInterval(this.stays);
    this.stopLooking();
    this.life = CLOSED;
    for (const block of this.failed.splice(0)) written(block);
    const { endEmitted, length } = socket._readableState;
    if (this.closed === 0) {
      if ((ws._bits & (PAUSED | TERMINATED)) === PAUSED) ws.resume();
      // A paused stream might have been destroyed with unread bytes.
      if (length !== 0 && !endEmitted) this.isRead(socket.read(length));
    }
    // Where ws would wait for the end of its receiver, other listeners of 'close' come first.
    if (endEmitted || (ws._bits & PEER_DONE) !== 0) this.finish();
    else process.nextTick(() => this.finish());
  }

  /** After the last event of the stream. */
  finish() {
    this.life = OVER;
    if (this.closed !== 0) return inContext(this.ws, receive.closed, this.closed);
    this.report(STREAM_CLOSED);
    // Polls, as for an unread stream.
    if (this.closed === 0) this.pollTimer ??= setInterval(() => this.poll(), POLL_MILLISECONDS);
  }

  /** The tag, with a cause that the reactor cannot know. @param {number} tag */
  tagOfEnd(tag) {
    if (((tag >>> FLAGS_SHIFT) & KIND_MASK) !== CAUSE.RESET) return tag;
    const last = this.isLate ? CAUSE.CLOSE_TIMEOUT : CAUSE.TERMINATE;
    const cause = this.socket.errored ? CAUSE.RESET : this.hasEnded ? CAUSE.FIN : last;
    return IN_CLOSED | (cause << FLAGS_SHIFT);
  }
}

/** Key, on a stream: its pump. */
const kPump = Symbol('pump');

/** @type {(this: AnySocket, chunk: Buffer) => void} */
function onData(chunk) {
  this[kPump].take(chunk);
}

module.exports = { Pump, kPump, onData };

'use strict';

const net = require('node:net');
// Not the global ones, which a test can replace.
const { clearInterval, setImmediate, setInterval } = require('node:timers');

const { GONE, TERMINATED } = require('../base/bits');
const { bind, root } = require('../base/async-context');
const { EMPTY_BUFFER } = require('../base/constants');
const { Endpoint } = require('../connection/endpoint');
const { abandonSends, push, sent } = require('../connection/enqueue');
const { payload } = require('../reactor/batch');
const { bytesSettled } = require('../reactor/exchange');
const { ref, refer, unref } = require('../reactor/lifetime');
const outbox = require('../reactor/outbox');
const table = require('../reactor/table');
const { STATE, addressOf, keepAliveTag, noDelayTag } = require('./socket');
const { asTls } = require('./tls-socket');
const {
  CAUSE,
  FLAGS_SHIFT,
  IN_CLOSED,
  IN_DATA,
  IN_END,
  IN_SENT,
  KIND_MASK,
  OUT_END,
  OUT_FLAG_RESET,
  OUT_PAUSE,
  OUT_RESUME,
  OUT_TERMINATE,
  OUT_WRITE,
} = require('../base/layout');

/** @import { AnySocket, Server } from '../connection/state' */

/** @typedef {(error?: Error | null) => void} Done */

/** As many bytes as Node reads from a socket at once. When a stream has got them, the rest waits for the next turn of the event loop. */
const SHARE = 64 * 1024;

/** The number of the turn of the event loop, of those in which a stream gets bytes. */
const turn = { number: 0, isCounted: false };

/** Milliseconds between checks of whether a session of HTTP/2 has stopped to read. */
const POLL_MILLISECONDS = 1000;

/** Fields that hold the listeners of a stream. */
const OF_EMITTER = ['_events', '_eventsCount', '_maxListeners'];

/** The reactor relays bytes between the peer and a stream, for an HTTP server, until the connection ends or is a WebSocket. */
class Relay extends Endpoint {
  /**
   * @param {Server} owner
   * @param {number} slot
   * @param {Buffer} bytes Payload of a HANDOFF record
   * @param {number} start
   * @param {number} read Bytes that were read
   * @param {number} [highWaterMark]
   */
  constructor(owner, slot, bytes, start, read, highWaterMark) {
    super(owner.options);
    this.bytesRead = read;
    /** Bytes for the stream, the number of these bytes, and how many it got in which turn. @type {Buffer[]} */
    this.waiting = [];
    this.waitingBytes = 0;
    this.fed = 0;
    this.fedIn = turn.number;
    this.isDue = false;
    /** Whether the stream accepts more bytes. */
    this.wants = true;
    this.isPaused = false;
    this.isFeeding = false;
    /** The peer has ended its side. */
    this.hasEnded = false;
    /** The stream has got that end. */
    this.isOver = false;
    /** Whether it carries an HTTP/2 session, which ends as a whole: see `serveSession()`. */
    this.isSession = false;
    /** Whether it keeps the process alive, unless the program has called `unref()`: see `judgeHold()`. */
    this.holds = true;
    /** Bytes that the peer had taken at the last timeout. */
    this.settled = 0;
    this._take(slot, bytes, start, { owner });
    const { _socket: seen } = this;
    const Class = this._tlsText === '' ? RelayedSocket : RelayedTlsSocket;
    this._adopt(Reflect.construct(RelayedSocket, [this, highWaterMark], Class));
    if (seen !== null) this.become(seen);
  }

  /**
   * The stream is the object that listeners of 'secureConnection' have seen, with what these have put on it.
   *
   * @param {AnySocket} seen
   */
  become(seen) {
    const { _socket: socket } = this;
    const { timeout, _unreferenced: isUnreferenced } = seen;
    seen._idle?.set(0);
    for (const name of STATE) delete seen[name];
    const fields = Object.getOwnPropertyDescriptors(socket);
    for (const name of OF_EMITTER) Reflect.deleteProperty(fields, name);
    Object.setPrototypeOf(Object.defineProperties(seen, fields), Object.getPrototypeOf(socket));
    for (const name of socket.eventNames()) {
      for (const listener of socket.rawListeners(name)) seen.prependListener(name, listener);
    }
    this._adopt(seen);
    if (timeout !== 0) seen.setTimeout(timeout);
    seen._unreferenced = isUnreferenced;
  }

  get bufferedAmount() {
    return Math.max(this._accepted - bytesSettled(this), 0);
  }

  /** @type {import('../reactor/reactors').OnRecord} */
  _onRecord(tag, offset, length) {
    const kind = tag & KIND_MASK;
    if (kind === IN_DATA) this.take(payload(tag, offset, length));
    else if (kind === IN_SENT) this.sent(length);
    else if (kind === IN_END) this.end();
    else if (kind === IN_CLOSED) this.closed((tag >>> FLAGS_SHIFT) & KIND_MASK);
  }

  _onFailed() {
    this.gone(Object.assign(new Error('The reactor failed'), { code: 'WS_ERR_REACTOR_FAILED' }));
  }

  /** @param {Buffer} data */
  take(data) {
    this.bytesRead += data.length;
    if (this._socket.destroyed) return;
    this._socket._unrefTimer();
    this.waiting.push(data);
    this.waitingBytes += data.length;
    this.feed();
    if (this.waitingBytes > SHARE) this.pause();
  }

  end() {
    if (this.hasEnded || this._socket.destroyed) return;
    this.hasEnded = true;
    this.feed();
  }

  /** Gives the stream its share of the waiting bytes, and then the end. */
  feed() {
    const { _socket: socket, waiting } = this;
    if (this.isFeeding) return;
    this.isFeeding = true;
    try {
      while (waiting.length !== 0 && this.wants && this.hasShare() && !socket.destroyed) {
        const piece = this.takePiece();
        // Set before the call: the stream can request more during it.
        this.wants = false;
        let hasRoom = true;
        try {
          hasRoom = socket.push(piece);
        } finally {
          // Node continues even if a listener has thrown.
          if (hasRoom) this.wants = true;
        }
      }
    } finally {
      this.isFeeding = false;
      this.judgeHold();
      if (waiting.length !== 0 && this.wants && !socket.destroyed) this.feedLater();
    }
    if (waiting.length !== 0 || this.isOver) return;
    if (!this.hasEnded) return this.wants ? this.resume() : undefined;
    this.isOver = true;
    if (this.isSession) return this.endSession();
    socket.push(null);
    // As Node does: nothing else would notice the end of a stream without bytes.
    socket.read(0);
  }

  /** A handle of Node keeps the process alive only while it reads or writes. */
  judgeHold() {
    this.hold((this.wants && !this.hasEnded) || Boolean(this._extra?.callbacks?.length));
  }

  /** @param {boolean} does */
  hold(does) {
    if (this.holds === does || (this._bits & GONE) !== 0) return;
    this.holds = does;
    if (this._socket._unreferenced) return;
    if (does) ref();
    else unref();
  }

  /** A WebSocket takes the connection, with the bytes that the stream did not get. */
  leave() {
    this.hold(true);
    this._bits |= GONE;
    this.isOver = true;
    return this.waiting.splice(0);
  }

  hasShare() {
    if (this.fedIn !== turn.number) {
      this.fedIn = turn.number;
      this.fed = 0;
    }
    return this.fed < SHARE;
  }

  feedLater() {
    if (this.isDue) return;
    this.isDue = true;
    inNextTurn(() => {
      this.isDue = false;
      this.feed();
    });
  }

  takePiece() {
    countTurn();
    const first = this.waiting[0];
    const piece = first.subarray(0, SHARE);
    if (piece.length === first.length) this.waiting.shift();
    else this.waiting[0] = first.subarray(SHARE);
    this.fed += piece.length;
    this.waitingBytes -= piece.length;
    return piece;
  }

  /** After an error of its client, nghttp2 refuses all frames and Node stops reading: the session would not see the end. */
  serveSession() {
    const { _socket: socket } = this;
    this.isSession = true;
    const poll = () => {
      // While a write waits, the session would keep all bytes that it reads.
      if (socket.isPaused() && socket.writable && socket.writableLength === 0) socket.resume();
    };
    const pollTimer = setInterval(poll, POLL_MILLISECONDS).unref();
    socket.once('close', () => clearInterval(pollTimer));
  }

  /** Node would shut the stream down while its HTTP/2 session still writes, which crashes the process. */
  endSession() {
    const { _socket: socket } = this;
    const destroy = () => socket.readableLength === 0 && socket.destroy();
    socket.on('data', destroy);
    destroy();
  }

  /** @param {number} cause */
  closed(cause) {
    table.forget(this._slot);
    const isOver = this.hasEnded || cause === CAUSE.FIN || (this._bits & TERMINATED) !== 0;
    // After both ends the stream can still have bytes, and destroys itself.
    if (isOver) this.end();
    this.gone(isOver && !this._extra?.callbacks?.length ? null : reset());
  }

  /** @param {Error | null} error */
  gone(error) {
    this.hold(false);
    this._bits |= GONE;
    if (error !== null) this._socket.destroy(error);
    abandonSends(this);
  }

  pause() {
    if (this.isPaused) return;
    this.isPaused = true;
    this.command(OUT_PAUSE);
  }

  resume() {
    if (!this.isPaused) return;
    this.isPaused = false;
    this.command(OUT_RESUME);
  }

  /** @param {number} tag */
  command(tag) {
    if ((this._bits & (GONE | TERMINATED)) === 0) outbox.pushEmpty(this._slot, this._generation, tag);
  }

  /** `done`: the kernel has the bytes. @type {(chunks: Array<{ chunk: Buffer | string, encoding: BufferEncoding }>, done: Done) => void} */
  write(chunks, done) {
    const left = (/** @type {Error | null} */ error) => {
      this._socket._unrefTimer();
      done(error);
    };
    const callback = bind(left);
    for (const [index, { chunk, encoding }] of chunks.entries()) {
      const part = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk;
      this._accepted += push(this, OUT_WRITE, part, index === chunks.length - 1 ? callback : undefined);
    }
    this.judgeHold();
  }

  /** @param {number} count */
  sent(count) {
    try {
      sent(this, count);
    } finally {
      this.judgeHold();
    }
  }

  /** @param {Done} done */
  finish(done) {
    push(this, OUT_END, EMPTY_BUFFER, done);
    this.judgeHold();
  }

  _destroy(flags = 0) {
    this.command(OUT_TERMINATE | flags);
    outbox.handOver();
    this._bits |= TERMINATED;
  }

  /** A record of the connection is lost. */
  terminate() {
    this._socket.destroy(reset());
  }

  /** Whether the peer takes bytes, if slowly. */
  isMoving() {
    const settled = bytesSettled(this);
    const isMoving = settled < this._accepted && settled !== this.settled;
    this.settled = settled;
    return isMoving;
  }
}

/** One immediate for all streams: each request is bytes for one. */
function countTurn() {
  if (turn.isCounted) return;
  turn.isCounted = true;
  inNextTurn(() => {
    turn.number++;
    turn.isCounted = false;
  });
}

/** @param {() => void} act */
function inNextTurn(act) {
  root.runInAsyncScope(setImmediate, undefined, act);
}

/** As Node reports it. */
function reset() {
  const error = new Error('read ECONNRESET');
  return Object.assign(error, { errno: -require('node:os').constants.errno.ECONNRESET, code: 'ECONNRESET', syscall: 'read' });
}

/** TypeScript: a class must not replace fields of net.Socket by accessors. @type {new (options: object) => any} */
const Base = net.Socket;

/** The stream of a relayed connection, for an HTTP server: a net.Socket with its handle in a reactor. */
class RelayedSocket extends Base {
  /** @param {Relay} relay @param {number} [highWaterMark] */
  constructor(relay, highWaterMark) {
    // As in Node, over TLS the end of one side is the end of both.
    super({ allowHalfOpen: relay._tlsText === '', highWaterMark });
    /** @type {Relay} */
    this._owner = relay;
    this._listener = relay._owner;
    this._unreferenced = false;
    this._peername = addressOf(relay._remote, relay._remotePort);
    this._sockname = addressOf(relay._local, relay._localPort);
  }

  get pending() {
    return false;
  }

  get bytesRead() {
    return this._owner.bytesRead;
  }

  /** With those that wait in the stream, as in Node. */
  get bytesWritten() {
    let count = this._owner._accepted;
    for (const { chunk, encoding } of this.writableBuffer) count += typeof chunk === 'string' ? Buffer.byteLength(chunk, encoding) : chunk.length;
    return count;
  }

  _getpeername() {
    return this._peername;
  }

  _getsockname() {
    return this._sockname ?? {};
  }

  /** Nothing more after `destroy()`: bytes that came with the connection are in the stream before a listener sees it. @param {number} [size] */
  read(size) {
    return this.destroyed ? null : super.read(size);
  }

  _read() {
    this._owner.wants = true;
    this._owner.feed();
  }

  /** @type {(chunk: Buffer | string, encoding: BufferEncoding, done: Done) => void} */
  _write(chunk, encoding, done) {
    this._writev([{ chunk, encoding }], done);
  }

  /** @type {(chunks: Parameters<Relay['write']>[0], done: Done) => void} */
  _writev(chunks, done) {
    this._unrefTimer();
    this._owner.write(chunks, done);
  }

  /** @param {Done} done */
  _final(done) {
    this._owner.finish(done);
  }

  /** @type {(error: Error | null, done: Done) => void} */
  _destroy(error, done) {
    this._owner._destroy(this.resetAndClosing ? OUT_FLAG_RESET : 0);
    // With a handle, Node says whether there was an error, and forgets the own address.
    const close = (/** @type {() => void} */ closed) => void setImmediate(closed);
    this._handle = { close, reset: close };
    super._destroy(error, done);
  }

  resetAndDestroy() {
    this.resetAndClosing = true;
    return this.destroy();
  }

  _onTimeout() {
    if (this._owner.isMoving()) this._unrefTimer();
    else this.emit('timeout');
  }

  /** @param {unknown} [on] */
  setNoDelay(on) {
    this._owner.command(noDelayTag(on));
    return this;
  }

  /** @param {unknown} [on] @param {unknown} [milliseconds] */
  setKeepAlive(on, milliseconds) {
    this._owner.command(keepAliveTag(on, milliseconds));
    return this;
  }

  ref() {
    return this._refer(true);
  }

  unref() {
    return this._refer(false);
  }

  /** @param {boolean} does */
  _refer(does) {
    if (this._owner.holds) refer(this, does);
    else this._unreferenced = !does;
    return this;
  }
}

/**
 * The same over TLS, also an instance of tls.TLSSocket.
 *
 * @this {unknown}
 */
function RelayedTlsSocket() {}
RelayedTlsSocket.prototype = asTls(RelayedSocket.prototype);

/** @param {object} socket */
function isRelayed(socket) {
  const prototype = Object.getPrototypeOf(socket);
  return prototype === RelayedSocket.prototype || prototype === RelayedTlsSocket.prototype;
}

module.exports = { Relay, isRelayed };

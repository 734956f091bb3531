'use strict';

const EventEmitter = require('node:events');

const { GONE, INDIRECT, ONE_BY_ONE, PAUSED, PEER_DONE, RESUMED, SENDS_WAIT, TERMINATED } = require('./base/bits');
const { inContext } = require('./base/async-context');
const {
  BINARY_TYPES,
  CLOSED,
  CONNECTING,
  EMPTY_BUFFER,
  NO_SLOT,
  OPEN,
  READY_STATES,
  kUpgrade,
} = require('./constants');
const { abort, connect } = require('./client/client');
const privateFields = require('./compat/private-fields');
const { log } = require('./base/log');
const { currentBatch } = require('./reactor/dispatch');
const { fixCapture } = require('./base/emitter');
const eventTarget = require('./event-target');
const receive = require('./connection/receive');
const { BINARY, TEXT, closeReason, tagOf } = require('./connection/arguments');
const { Endpoint } = require('./connection/endpoint');
const { binaryTypeOf, setBinaryType } = require('./connection/binary-type');
const { command, hasConnection, enqueue } = require('./connection/enqueue');
const { hasRoom } = require('./connection/backpressure');
const { pack, unpack } = require('./handover/attachment');
const { causeOf, open, startClosing, streamOf } = require('./connection/state');
const { bytesSettled } = require('./reactor/exchange');
const { DEFLATE } = require('./deflate/permessage-deflate');
const { masking, enqueueClose, sendClosed, sendControl, sendInTurn } = require('./connection/send');
const { attachStream } = require('./transport/attach');
const topics = require('./topics-install');
const {
  ABNORMAL,
  CAUSE,
  CAUSES,
  HIGH_WATER_MARK,
  KIND_MASK,
  OUT_FLAG_FIN,
  OUT_PAUSE,
  OUT_PING,
  OUT_PONG,
  OUT_RESUME,
  OUT_TERMINATE,
  isTopic,
} = require('./base/layout');

/** @import { AnySocket, Data, Extensions, Fields, SentCallback } from './connection/state' */
/** @import { SendOptions } from '../types/sending' */

/** @typedef {import('./topics-install').Fields} TopicFields */

/**
 * Data has at most 125 bytes. By default a client masks and a server does not.
 *
 * @typedef {(data?: Data | SentCallback, mask?: boolean | SentCallback, callback?: SentCallback) => void} SendControl
 */

/** A property that a program has added. */
const PROPERTY = { configurable: true, enumerable: true, writable: true };

/** @type {new (options: unknown) => InstanceType<typeof Endpoint> & Fields & TopicFields} */
const Base = /** @type {any} */ (Endpoint);

class WebSocket extends Base {
  /**
   * @param {string | URL | null} address Null: a server or `setSocket` opens it
   * @param {unknown} [protocols] One, several, or the options of a client
   * @param {import('./client/client').Given} [options]
   */
  constructor(address, protocols, options) {
    super(address === null ? options : undefined);
    const { allowSynchronousEvents = true } = options || {};
    this._bits = allowSynchronousEvents ? 0 : ONE_BY_ONE;
    if (EventEmitter.captureRejections) this._bits |= INDIRECT;
    this._readyState = CONNECTING;
    // Number among the WebSockets of servers, in the order of opening; 0: none of them.
    this._order = 0;
    if (address !== null) connect(this, address, protocols, options);
  }

  /** A copy of what the program has assigned, here or in the process before. */
  get attachment() {
    const bytes = this._extra === null ? null : this._extra.attachment;
    return bytes === null ? undefined : unpack(bytes);
  }

  set attachment(value) {
    if ((this._profile.shared.via ?? this._owner)?._handover) this._ensureExtra().attachment = pack(value);
    // With ws, a program can have a property of this name.
    else Object.defineProperty(this, 'attachment', { ...PROPERTY, value });
  }

  /** The connection comes from the process before. */
  get resumed() {
    return (this._bits & RESUMED) !== 0;
  }

  set resumed(value) {
    Object.defineProperty(this, 'resumed', { ...PROPERTY, value });
  }

  get binaryType() {
    return binaryTypeOf(this);
  }

  set binaryType(type) {
    if (BINARY_TYPES.includes(type)) setBinaryType(this, type);
  }

  get bufferedAmount() {
    const late = this._extra === null ? 0 : this._extra.lateBytes;
    const stream = streamOf(this);
    if (this._readyState === CONNECTING) return late;
    // Within the callback of a failed write, Node subtracts another failed write twice.
    const written = stream === null ? 0 : Math.max(stream.socket._writableState.length, 0);
    if ((this._bits & GONE) !== 0 || this._slot === NO_SLOT) return written + late;
    return Math.max(this._accepted - bytesSettled(this), 0) + written + late;
  }

  /** @returns {import('../types/events').CloseCause | null} null before 'close' */
  get closeCause() {
    return this._readyState === CLOSED ? /** @type {any} */ (CAUSES[causeOf(this)] ?? null) : null;
  }

  get extensions() {
    const extra = this._extra;
    if (extra !== null && extra.extensions !== null) return Object.keys(extra.extensions).join();
    return this._profile.shared.extensions === '' ? '' : DEFLATE;
  }

  get isPaused() {
    return (this._bits & PAUSED) !== 0;
  }

  get protocol() {
    return this._profile.shared.protocol;
  }

  get readyState() {
    return this._readyState;
  }

  get url() {
    return this._extra?.client?.url;
  }

  /** Without a code, the close frame is empty. @type {(code?: number, reason?: string | Uint8Array) => void} */
  close(code, reason) {
    const state = this.readyState;
    if (state === CONNECTING) return abort(this);
    if (state !== OPEN) return;
    const payload = closeReason(code, reason);
    enqueueClose(this, code, payload);
    startClosing(this);
    if ((this._bits & GONE) !== 0) releaseHeld(this);
  }

  /** Emits 'close' with the code and reason so far. The connection must have ended. */
  emitClose() {
    this._readyState = CLOSED;
    const extra = this._extra;
    if (extra === null) this.emit('close', ABNORMAL, EMPTY_BUFFER);
    else this.emit('close', extra.closeCode, extra.closeMessage);
  }

  /** @throws {TypeError} For a client after a failed handshake */
  pause() {
    if (this.readyState === CONNECTING || this.readyState === CLOSED) return;
    // The program might have paused or resumed the stream itself. As in ws, this call counts.
    const isStream = streamOf(this) !== null;
    if ((this._bits & PAUSED) !== 0 && !isStream && hasConnection(this)) return;
    if (log.enabled) log('connection %d: paused', this._order);
    this._bits |= PAUSED;
    this._ensureExtra().pausedIn = currentBatch();
    // After the peer's last record, only its end is unread.
    if ((this._bits & PEER_DONE) !== 0 && !isStream) return;
    command(this, OUT_PAUSE);
  }

  resume() {
    if (this.readyState === CONNECTING || this.readyState === CLOSED) return;
    if ((this._bits & PAUSED) === 0 && streamOf(this) === null && hasConnection(this)) return;
    this._bits &= ~PAUSED;
    if (log.enabled) log('connection %d: resumed', this._order);
    receive.scheduleNext(this);
    // If too many records are buffered, reading resumes after their delivery.
    if (this._extra?.buffered?.isFull) return;
    command(this, OUT_RESUME);
  }

  /** @type {SendControl} */
  ping(data, mask, callback) {
    sendControl(this, OUT_PING | OUT_FLAG_FIN, data, mask, callback);
  }

  /** @type {SendControl} */
  pong(data, mask, callback) {
    sendControl(this, OUT_PONG | OUT_FLAG_FIN, data, mask, callback);
  }

  /**
   * Returns false if there is no room for more; 'drain' follows.
   *
   * @type {(data: Data, options?: SendOptions | SentCallback | null, callback?: SentCallback) => boolean}
   */
  send(data, options, callback) {
    if (typeof options === 'function') {
      callback = options;
      options = undefined;
    }
    if (typeof data === 'number') data = data.toString();
    if (this.readyState !== OPEN) {
      sendClosed(this, data, callback);
      return false;
    }
    const before = this._accepted;
    const isText = typeof data === 'string';
    let tag = isText ? TEXT : BINARY;
    if (options !== undefined && options !== null) {
      // Read first: once V8 knows the shape of the options from a property, `tagOf` costs no call.
      const { mask } = options;
      tag = tagOf(options, !isText);
      if (mask !== undefined && Object.hasOwn(options, 'mask')) tag |= masking(this, mask);
    }
    if ((this._bits & SENDS_WAIT) === 0 && (isText || (data instanceof Uint8Array && data.length !== 0))) {
      enqueue(this, tag, /** @type {string | Uint8Array} */ (data), callback);
    } else {
      sendInTurn(this, tag, data, callback);
    }
    const roomUntil = this._extra === null ? HIGH_WATER_MARK : this._extra.roomUntil;
    return (this._accepted < roomUntil && (this._bits & SENDS_WAIT) === 0) || hasRoom(this, before);
  }

  /**
   * Opens this WebSocket over a stream, after the handshake.
   *
   * @type {(socket: AnySocket, head: Buffer, options: import('./transport/attach').SocketOptions) => void}
   */
  setSocket(socket, head, options) {
    const take = socket[kUpgrade]?.open;
    if (take) take(this);
    else attachStream(this, socket, head, options);
  }

  terminate() {
    if (this.readyState === CLOSED) return;
    if (this.readyState === CONNECTING) return abort(this);
    // After a failed handshake a client has nothing to destroy.
    if (!hasConnection(this)) return;
    startClosing(this);
    this._destroy();
  }

  /** Closes the socket at once. Only 'close' is emitted after that. */
  _destroy() {
    if ((this._bits & TERMINATED) !== 0) return;
    this._bits |= TERMINATED;
    if (this._extra !== null) this._extra.isDrainDue = false;
    if ((this._bits & GONE) !== 0) releaseHeld(this);
    else command(this, OUT_TERMINATE);
  }

  _open() {
    open(this);
    this.emit('open');
  }

  /** @type {import('./reactor/reactors').OnRecord} */
  _onRecord(tag, offset, length) {
    inContext(this, isTopic(tag & KIND_MASK) ? topics.onRecord : receive.onRecord, tag, offset, length);
  }

  _onFailed() {
    this._bits |= GONE | TERMINATED;
    if (this._readyState !== CLOSED) inContext(this, receive.finish, CAUSE.REACTOR_FAILED);
  }
}

for (const [value, name] of READY_STATES.entries()) {
  Object.defineProperty(WebSocket, name, { enumerable: true, value });
  Object.defineProperty(WebSocket.prototype, name, { enumerable: true, value });
}

const GETTERS = ['binaryType', 'bufferedAmount', 'extensions', 'isPaused', 'protocol', 'readyState', 'url'];
for (const name of GETTERS) {
  Object.defineProperty(WebSocket.prototype, name, { enumerable: true });
}

eventTarget.install(WebSocket.prototype);
privateFields.install(WebSocket.prototype);
topics.install(WebSocket.prototype);
fixCapture(WebSocket.prototype);

/** Delivers buffered records without a resume(), after the socket has closed. @param {WebSocket} ws */
function releaseHeld(ws) {
  ws._bits &= ~PAUSED;
  receive.scheduleNext(ws);
}

// As in ws, the class itself: tracers look for it here.
module.exports = WebSocket;

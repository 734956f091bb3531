'use strict';

const {
  EMPTY_BUFFER,
  IN_FLAG_BAD_EXTENSIONS,
  IN_FLAG_BEFORE_SHOULD_HANDLE,
  IN_CLOSED,
  IN_END,
  IN_SENT,
  OUT_ACCEPT,
  OUT_RESPOND,
  OUT_TERMINATE,
} = require('./constants');
const { Handshake } = require('./handshake');
const outbox = require('./outbox');
const { abandonSends, sent } = require('./outgoing');
const { tellOfEnd } = require('./peer-end');
const reactor = require('./reactor');
const { UpgradeRequest, extensionsText, requestText } = require('./request');
const { Socket, hold } = require('./socket');

/**
 * What the reactor's checks refuse before `shouldHandle` is asked, by number: status, body, header fields.
 *
 * @type {Array<[number, string, Record<string, string>?]>}
 */
const REFUSALS = [
  [405, 'Invalid HTTP method'],
  [400, 'Invalid Upgrade header'],
  [400, 'Missing or invalid Sec-WebSocket-Key header'],
  [400, 'Missing or invalid Sec-WebSocket-Version header', { 'Sec-WebSocket-Version': '13, 8' }],
  [400, 'Unexpected request body'],
];

/**
 * A handshake that came through a listener of the reactor and that JavaScript answers. It holds the slot in the table
 * until it is a WebSocket or gone.
 */
class Upgrade extends Handshake {
  /**
   * @param {any} server The WebSocketServer
   * @param {number} slot
   * @param {Buffer} bytes
   * @param {number} start Where in it the payload of the REQUEST record begins
   * @param {any} early The connection, if it was shown before its request came
   */
  constructor(server, slot, bytes, start, early) {
    super(server, null, null);
    this._slot = slot;
    this._generation = 0;
    this._extra = { callbacks: /** @type {Function[] | null} */ (null) };
    hold(this, slot, bytes, start);
    this.socket = /** @type {any} */ (early === undefined ? new Socket(this) : early.handOver(this));
    this.request = new UpgradeRequest(requestText(bytes, start), this);
    this.extensions = extensionsText(bytes, start);
    this.badExtensions = false;
    this.answered = false;
    this.gone = false;
    /** The peer has ended its side, which is told later. */
    this._endWaits = false;
    this.isPaused = false;
    this.bufferedAmount = 0;
    reactor.place(slot, this);
  }

  get _socket() {
    return this.socket;
  }

  pause() {}

  resume() {}

  _ensureExtra() {
    return this._extra;
  }

  /** @param {number} tag @param {number} _offset @param {number} length */
  _onRecord(tag, _offset, length) {
    const kind = tag & 0xff;
    if (kind === IN_SENT) sent(this, length);
    if (kind === IN_END) {
      this._endWaits = true;
      tellOfEnd(ended, this);
    }
    if (kind !== IN_CLOSED) return;
    reactor.forget(this._slot);
    this._onFailed();
  }

  _onFailed() {
    ended(this);
    this.gone = true;
    if (!this.socket._unreferenced) reactor.release();
    this.server.closed(this);
    abandonSends(this);
    this.socket._onClosed();
  }

  _destroy() {
    if (!this.gone) outbox.pushEmpty(this._slot, this._generation, OUT_TERMINATE);
  }

  /**
   * The reactor's verdict, then the server's hooks.
   *
   * @param {number} tag Of the REQUEST record
   */
  handle(tag) {
    this.badExtensions = (tag & (IN_FLAG_BAD_EXTENSIONS << 8)) !== 0;
    if ((tag & (IN_FLAG_BEFORE_SHOULD_HANDLE << 8)) === 0) return this.decide();
    const [status, message, headers] = REFUSALS[(tag >>> 16) - 1] || [400, 'Bad Request'];
    this.refuse(status, message, headers);
  }

  negotiate() {
    return !this.badExtensions;
  }

  isAnswered() {
    return this.answered;
  }

  mayRespond() {
    return this.socket.writable && !this.answered;
  }

  /** @param {string} response @param {string} protocol */
  accept(response, protocol) {
    if (this.gone || this.socket.destroyed) return;
    this.push(OUT_ACCEPT, response);
    this.server.opened(this, protocol, this.extensions, this.request, EMPTY_BUFFER, 0);
  }

  /** @param {string} response */
  end(response) {
    this.push(OUT_RESPOND, response);
    // A second verdict comes too late, as with a stream that was ended.
    this.socket._ended = true;
  }

  /**
   * @param {number} kind
   * @param {string} text
   */
  push(kind, text) {
    this.answered = true;
    outbox.pushText(this._slot, this._generation, kind, text);
  }
}

/**
 * The peer has ended its side. A WebSocket that was made of the connection meanwhile is told by itself.
 *
 * @param {Upgrade} upgrade
 */
function ended(upgrade) {
  if (!upgrade._endWaits) return;
  upgrade._endWaits = false;
  const { socket } = upgrade;
  if (socket._owner === upgrade) socket._onEnd();
}

module.exports = { Upgrade };

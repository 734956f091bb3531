'use strict';

const { CLIENT, CLOSE_SENT, ERROR_EMITTED } = require('../base/bits');
const { CLOSING, CONNECTING, EMPTY_BUFFER } = require('../base/constants');
const { binaryTypeOf } = require('../connection/binary-type');
const { hasConnection } = require('../connection/post');
const { isCloseReceived } = require('../connection/state');
const { ABNORMAL } = require('../base/layout');
const { Socket } = require('./socket');
const { ReceiverView, SenderView } = require('./views');

/** @import { AnySocket, WebSocket } from '../connection/state' */

/**
 * Fields of ws that are not documented and that programs read all the same.
 *
 * @type {Record<string, unknown> & ThisType<WebSocket>}
 */
const fields = {
  get _autoPong() {
    return !!this._options?.autoPong;
  },

  get _binaryType() {
    return binaryTypeOf(this);
  },

  get _closeCode() {
    return this._extra === null ? ABNORMAL : this._extra.closeCode;
  },

  get _closeFrameReceived() {
    return isCloseReceived(this);
  },

  get _closeFrameSent() {
    return (this._bits & CLOSE_SENT) !== 0;
  },

  get _closeMessage() {
    return this._extra === null ? EMPTY_BUFFER : this._extra.closeMessage;
  },

  get _closeTimeout() {
    return this._options?.closeTimeout;
  },

  get _closeTimer() {
    // The reactor has the timer: this object only shows its time.
    return this._readyState === CLOSING && this._owner !== null ? { _idleTimeout: this._closeTimeout } : null;
  },

  get _errorEmitted() {
    return (this._bits & ERROR_EMITTED) !== 0;
  },

  get _extensions() {
    return (this._ensureExtra().extensions ??= extensionsIn(this._common.shared.extensions));
  },

  set _extensions(extensions) {
    this._ensureExtra().extensions = extensions;
  },

  get _isServer() {
    return (this._bits & CLIENT) === 0;
  },

  set _isServer(isServer) {
    if (isServer) this._bits &= ~CLIENT;
    else this._bits |= CLIENT;
  },

  get _paused() {
    return this.isPaused;
  },

  get _receiver() {
    return isConnected(this) ? (this._ensureExtra().receiver ??= new ReceiverView(this)) : null;
  },

  get _sender() {
    return isConnected(this) ? (this._ensureExtra().sender ??= new SenderView(this)) : null;
  },

  get _redirects() {
    return this._extra?.client?.redirects;
  },

  get _req() {
    return this._extra?.client?.request;
  },

  get _socket() {
    if (!isConnected(this)) return null;
    const extra = this._ensureExtra();
    return extra.stream === null ? (extra.socket ??= /** @type {AnySocket} */ (/** @type {unknown} */ (new Socket(this)))) : extra.stream.socket;
  },
};

/** Not a client whose handshake failed, either. @type {(ws: WebSocket) => boolean} */
function isConnected(ws) {
  return ws._readyState !== CONNECTING && hasConnection(ws);
}

/** @type {(header: string) => Record<string, { params: Record<string, true | number> }>} */
function extensionsIn(header) {
  if (header === '') return {};
  const [name, ...list] = header.split('; ');
  /** @type {Record<string, true | number>} */
  const params = {};
  for (const param of list) {
    const [key, value] = param.split('=');
    params[key] = value === undefined ? true : Number(value);
  }
  return { [name]: { params } };
}

/** @type {(prototype: object) => void} */
function install(prototype) {
  const descriptors = Object.getOwnPropertyDescriptors(fields);
  for (const descriptor of Object.values(descriptors)) descriptor.enumerable = false;
  Object.defineProperties(prototype, descriptors);
}

module.exports = { install };

'use strict';

const { CLIENT, CLOSE_SENT, ERROR_EMITTED } = require('../base/bits');
const { CLOSING, CONNECTING, EMPTY_BUFFER } = require('../base/constants');
const { binaryTypeOf } = require('../connection/binary-type');
const { hasConnection } = require('../connection/post');
const { isCloseReceived } = require('../connection/state');
const { ABNORMAL } = require('../base/layout');
const { ReceiverView } = require('./receiver-view');
const { SenderView } = require('./sender-view');
const { Socket } = require('./socket');

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
    const extra = this._ensureExtra();
    if (extra.extensions === null) extra.extensions = extensionsIn(this._common.extensions);
    return extra.extensions;
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
    if (this._readyState === CONNECTING || !hasConnection(this)) return null;
    const extra = this._ensureExtra();
    if (extra.receiver === null) extra.receiver = new ReceiverView(this);
    return extra.receiver;
  },

  get _sender() {
    if (this._readyState === CONNECTING || !hasConnection(this)) return null;
    const extra = this._ensureExtra();
    if (extra.sender === null) extra.sender = new SenderView(this);
    return extra.sender;
  },

  get _redirects() {
    return this._extra?.client?.redirects;
  },

  get _req() {
    return this._extra?.client?.request;
  },

  get _socket() {
    if (this._readyState === CONNECTING || !hasConnection(this)) return null;
    const extra = this._ensureExtra();
    if (extra.stream !== null) return extra.stream.socket;
    if (extra.socket === null) extra.socket = /** @type {AnySocket} */ (/** @type {unknown} */ (new Socket(this)));
    return extra.socket;
  },
};

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

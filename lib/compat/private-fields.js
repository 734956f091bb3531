'use strict';

const { CLIENT, CLOSE_SENT, ERROR_EMITTED } = require('../base/bits');
const { CLOSING, CONNECTING, EMPTY_BUFFER } = require('../base/constants');
const { binaryTypeOf } = require('../connection/binary-type');
const { hasConnection } = require('../connection/enqueue');
const { isCloseReceived } = require('../connection/state');
const { ABNORMAL } = require('../base/layout');
const { socketOf } = require('../sockets/tls-socket');
const { ReceiverView, SenderView, define } = require('./views');

/** @import { WebSocket } from '../connection/state' */

/** Undocumented fields of ws that programs read. @type {Record<string, (ws: WebSocket) => unknown>} */
const getters = {
  _autoPong: (ws) => !!ws._options?.autoPong,
  _binaryType: binaryTypeOf,
  _closeCode: (ws) => ws._extra?.closeCode ?? ABNORMAL,
  _closeFrameReceived: isCloseReceived,
  _closeFrameSent: (ws) => (ws._bits & CLOSE_SENT) !== 0,
  _closeMessage: (ws) => ws._extra?.closeMessage ?? EMPTY_BUFFER,
  _closeTimeout: (ws) => ws._options?.closeTimeout,
  // The reactor has the timer; this only shows its time.
  _closeTimer: (ws) => (ws._readyState === CLOSING && hasConnection(ws) ? { _idleTimeout: ws._closeTimeout } : null),
  _errorEmitted: (ws) => (ws._bits & ERROR_EMITTED) !== 0,
  _extensions: (ws) => (ws._ensureExtra().extensions ??= extensionsIn(ws._profile.shared.extensions)),
  _isServer: (ws) => (ws._bits & CLIENT) === 0,
  _options: (ws) => ws._profile.shared.options,
  _paused: (ws) => ws.isPaused,
  _protocol: (ws) => ws.protocol,
  _receiver: (ws) => (isConnected(ws) ? (ws._ensureExtra().receiver ??= new ReceiverView(ws)) : null),
  _redirects: (ws) => ws._extra?.client?.redirects,
  _req: (ws) => ws._extra?.client?.request,
  _sender: (ws) => (isConnected(ws) ? (ws._ensureExtra().sender ??= new SenderView(ws)) : null),
  _socket(ws) {
    if (!isConnected(ws)) return null;
    const extra = ws._ensureExtra();
    return extra.stream === null ? (extra.socket ??= socketOf(ws)) : extra.stream.socket;
  },
};

/** @type {Record<string, (ws: WebSocket, value: any) => void>} */
const setters = {
  _extensions(ws, extensions) {
    ws._ensureExtra().extensions = extensions;
  },
  _isServer(ws, isServer) {
    if (isServer) ws._bits &= ~CLIENT;
    else ws._bits |= CLIENT;
  },
  _options: (ws, options) => ws._change({ options }),
  _protocol: (ws, protocol) => ws._change({ protocol }),
};

/** False also after a failed handshake of a client. @param {WebSocket} ws */
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

/** @param {WebSocket} prototype */
function install(prototype) {
  define(prototype, getters, setters);
}

module.exports = { install };

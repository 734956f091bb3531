'use strict';

const EventEmitter = require('node:events');

const { SENDS_WAIT } = require('../base/bits');
const { limit } = require('../base/checks');
const { kWebSocket } = require('../base/constants');
const { binaryTypeOf } = require('../connection/binary-type');
const { sendFrame } = require('../connection/send');
const { streamOf } = require('../connection/state');

/** @import { SentCallback, WebSocket } from '../connection/state' */

/** A state of ws's Receiver. */
const INFLATING = 5;

/**
 * `ws._receiver`: settings, whether bytes wait to be inflated, 'drain' when none do, and 'conclude' after the answer to
 * the peer's close frame. It reads nothing.
 */
class ReceiverView extends EventEmitter {
  /** @param {WebSocket} ws */
  constructor(ws) {
    super();
    this._ws = ws;
  }

  get [kWebSocket]() {
    return this._ws;
  }

  /** Only for a stream: the reactor reads no more than it can pass on. */
  _isBehind() {
    return streamOf(this._ws)?.isThrottled === true;
  }
}

define(ReceiverView.prototype, {
  _allowSynchronousEvents: ({ _ws: ws }) => ws._options?.allowSynchronousEvents ?? true,
  _binaryType: ({ _ws: ws }) => binaryTypeOf(ws),
  _extensions({ _maxPayload: most, _ws: ws }) {
    for (const extension of Object.values(ws._extensions)) extension._maxPayload = most;
    return ws._extensions;
  },
  _isServer: ({ _ws: ws }) => ws._isServer,
  _maxBufferedChunks: ({ _ws: ws }) => Number(ws._options?.maxBufferedChunks) | 0,
  _maxFragments: ({ _ws: ws }) => limit(ws._options?.maxFragments),
  _maxPayload: ({ _ws: ws }) => limit(ws._options?.maxPayload),
  _skipUTF8Validation: ({ _ws: ws }) => !!ws._options?.skipUTF8Validation,
  _state: (view) => (view._isBehind() ? INFLATING : undefined),
  _writableState: (view) => ({ needDrain: view._isBehind() }),
});

/** States of ws's Sender: what sends wait for. */
const DEFAULT = 0;
const GET_BLOB_DATA = 2;

/** `ws._sender`: `sendFrame`, and what waits to be sent. */
class SenderView {
  /** @param {WebSocket} ws */
  constructor(ws) {
    this._ws = ws;
  }

  get _socket() {
    return this._ws._socket;
  }

  get _bufferedBytes() {
    return this._ws._ensureExtra().lateBytes;
  }

  get _state() {
    return (this._ws._bits & SENDS_WAIT) === 0 ? DEFAULT : GET_BLOB_DATA;
  }

  /** A frame of `Sender.frame`. @type {(list: Array<string | Uint8Array>, callback?: SentCallback) => void} */
  sendFrame(list, callback) {
    sendFrame(this._ws, list, callback);
  }
}

/**
 * Fields as functions of their object.
 *
 * @type {(prototype: object, getters: Record<string, (of: any) => unknown>, setters?: Record<string, (of: any, value: any) => void>) => void}
 */
function define(prototype, getters, setters = {}) {
  for (const [name, get] of Object.entries(getters)) {
    const set = setters[name];
    /** @type {PropertyDescriptor & ThisType<object>} */
    const property = {
      configurable: true,
      get() {
        return get(this);
      },
    };
    if (set !== undefined) {
      property.set = function (value) {
        set(this, value);
      };
    }
    Object.defineProperty(prototype, name, property);
  }
}

module.exports = { ReceiverView, SenderView, define };

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
 * `ws._receiver`: settings, whether bytes wait to be inflated, 'drain' when none do any more, and
 * 'conclude' after the peer's close frame was answered. It reads nothing itself.
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

  get _allowSynchronousEvents() {
    return this._ws._options?.allowSynchronousEvents ?? true;
  }

  get _binaryType() {
    return binaryTypeOf(this._ws);
  }

  get _extensions() {
    const extensions = this._ws._extensions;
    for (const extension of Object.values(extensions)) /** @type {{ _maxPayload: number }} */ (extension)._maxPayload = this._maxPayload;
    return extensions;
  }

  get _isServer() {
    return this._ws._isServer;
  }

  get _maxBufferedChunks() {
    return Number(this._ws._options?.maxBufferedChunks) | 0;
  }

  get _maxFragments() {
    return limit(this._ws._options?.maxFragments);
  }

  get _maxPayload() {
    return limit(this._ws._options?.maxPayload);
  }

  get _state() {
    return this._isBehind() ? INFLATING : undefined;
  }

  get _writableState() {
    return { needDrain: this._isBehind() };
  }

  get _skipUTF8Validation() {
    return !!this._ws._options?.skipUTF8Validation;
  }

  /** Never for a connection of the reactor, which reads no more than it can hand on. */
  _isBehind() {
    return streamOf(this._ws)?.isThrottled === true;
  }
}

/** States of ws's Sender: the work that sends wait for. */
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

  /** Writes a frame of `Sender.frame`. @type {(list: Array<string | Uint8Array>, callback?: SentCallback) => void} */
  sendFrame(list, callback) {
    sendFrame(this._ws, list, callback);
  }
}

module.exports = { ReceiverView, SenderView };

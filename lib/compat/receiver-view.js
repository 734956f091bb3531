'use strict';

const EventEmitter = require('node:events');

const { binaryTypeOf } = require('../connection/binary-type');
const { kWebSocket } = require('../base/constants');
const { limit } = require('../base/checks');

/** @import { WebSocket } from '../connection/state' */

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

  /** @returns {number | undefined} 5 while bytes wait to be inflated, as in ws; else undefined */
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
    const { stream } = this._ws._ensureExtra();
    return stream !== null && stream.isThrottled;
  }
}

module.exports = { ReceiverView };

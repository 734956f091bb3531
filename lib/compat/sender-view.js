'use strict';

const { SENDS_WAIT } = require('../base/bits');
const { sendFrame } = require('../connection/send');

/** @import { SentCallback, WebSocket } from '../connection/state' */

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
    if ((this._ws._bits & SENDS_WAIT) === 0) return DEFAULT;
    return GET_BLOB_DATA;
  }

  /** Writes a frame of `Sender.frame`. @type {(list: Array<string | Uint8Array>, callback?: SentCallback) => void} */
  sendFrame(list, callback) {
    sendFrame(this._ws, list, callback);
  }
}

module.exports = { SenderView };

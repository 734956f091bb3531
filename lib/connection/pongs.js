'use strict';

const { OWN_PONG } = require('../base/bits');
const { OPEN } = require('../base/constants');
const { endsBy } = require('./cause');
const { limit } = require('../base/checks');
const { CAUSE } = require('../base/layout');

/** @import { WebSocket } from './state' */

/** @type {(ws: WebSocket, data: Buffer) => void} */
function pinged(ws, data) {
  // In all other cases the reactor has answered.
  if ((ws._bits & OWN_PONG) !== 0) answerPing(ws, data);
  ws.emit('ping', data);
}

/** The automatic answer to a ping, where the reactor does not give it. @type {(ws: WebSocket, data: Buffer) => void} */
function answerPing(ws, data) {
  if (!ws._autoPong || ws.readyState !== OPEN) return;
  const extra = ws._ensureExtra();
  const most = limit(ws._options.maxPendingAutoPongs);
  if (most > 0 && extra.pendingPongs >= most) {
    endsBy(ws, CAUSE.TOO_MANY_PONGS);
    ws.terminate();
    return;
  }
  extra.pendingPongs++;
  ws.pong(data, !ws._isServer, () => extra.pendingPongs--);
}

module.exports = { pinged };

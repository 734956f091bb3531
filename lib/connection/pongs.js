'use strict';

const { OWN_PONG, STREAM } = require('../bits');
const { OPEN } = require('../constants');
const { endsBy } = require('./cause');
const { limit } = require('../checks');
const { CAUSE } = require('../reactor/layout');

/** @import { WebSocket } from './state' */

/**
 * @param {WebSocket} ws The connection of the ping
 * @param {Buffer} data The payload
 */
function pinged(ws, data) {
  // In all other cases the reactor has answered.
  if ((ws._bits & (STREAM | OWN_PONG)) !== 0) answerPing(ws, data);
  ws.emit('ping', data);
}

/**
 * The automatic answer to a ping, where the reactor does not give it.
 *
 * @param {WebSocket} ws The connection on which the ping came
 * @param {Buffer} data The payload
 */
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

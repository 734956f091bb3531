'use strict';

const { OPEN } = require('../constants');
const { limit } = require('../limits');

/** @import { WebSocket } from './state' */

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
    ws.terminate();
    return;
  }
  extra.pendingPongs++;
  ws.pong(data, !ws._isServer, () => extra.pendingPongs--);
}

module.exports = { answerPing };

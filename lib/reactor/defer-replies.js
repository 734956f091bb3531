'use strict';

// A client that closes one connection and opens another sees the old end first, as with one event loop. On a port, a
// reactor can answer the new connection before that client has read the end. So answers wait for a few turns after it.

// Not the global one, which a test can replace.
const { setImmediate } = require('node:timers');

const { OUT_FLAG_ON, OUT_DEFER } = require('../base/layout');
const outbox = require('./outbox');
const { servers } = require('./table');

/** @import { ConnectionId } from './exchange' */

/** Turns of the event loop after an end: in the first it reaches a client, in the next comes 'close'. */
const TURNS = 3;

/** Until no end is recent, and all answers have left. */
let turnsLeft = 0;
/** Connections with deferred answers. These leave together, so that none overtakes another. */
/** @type {ConnectionId[]} */
let waiting = [];

/** The end of a connection leaves. */
function ended() {
  // Answers that wait do not wait for later ends: one could follow another for ever. Without a port, none waits.
  if (waiting.length !== 0 || servers().length === 0) return;
  if (turnsLeft === 0) setImmediate(onTurn);
  turnsLeft = TURNS;
}

/** @param {ConnectionId} connection Its answer might have to wait */
function deferReply(connection) {
  if (turnsLeft === 0) return;
  outbox.pushEmpty(connection._slot, connection._generation, OUT_DEFER | OUT_FLAG_ON);
  waiting.push(connection);
}

function onTurn() {
  if (--turnsLeft > 0) setImmediate(onTurn);
  else releaseReplies();
}

function releaseReplies() {
  const connections = waiting;
  waiting = [];
  for (const { _slot, _generation } of connections) outbox.pushEmpty(_slot, _generation, OUT_DEFER);
}

module.exports = { ended, releaseReplies, deferReply };

'use strict';

// Not the global one: a test may have put another in its place.
const { setImmediate } = require('node:timers');

const { EMPTY_BUFFER } = require('../constants');
const { endsBy } = require('../connection/cause');
const { CAUSE, FLAGS_SHIFT, IN_ERROR, PROTOCOL_ERRORS } = require('../reactor/layout');

/** @import { StreamConnection } from '../connection/state' */

/** The record of the error that ends a connection. */
const ERROR = IN_ERROR | (PROTOCOL_ERRORS.findIndex((row) => row?.code === 'WS_ERR_SEND_BUDGET') << FLAGS_SHIFT);

/**
 * The bytes that wait to be sent to all streams of the thread. Above the budget the connection with
 * most of them is ended, as the reactors do with theirs (`src/reactor/write/waiting.rs`).
 */
class SendBudget {
  constructor() {
    /** Bytes; 0 is no limit. */
    this.bytes = 0;
    /** The connections with sends that may not have left. @type {Set<StreamConnection>} */
    this.slow = new Set();
    this.isComing = false;
  }

  /** @param {number} bytes The option of a server: the first value counts */
  use(bytes) {
    if (this.bytes === 0) this.bytes = bytes;
  }

  /** @param {StreamConnection} connection A connection to which something is sent */
  sent(connection) {
    this.slow.add(connection);
    if (this.isComing) return;
    this.isComing = true;
    setImmediate(look, this);
  }

  look() {
    let total = 0;
    for (const connection of this.slow) {
      const { bufferedAmount } = connection.ws;
      if (bufferedAmount === 0 || connection.isOver) this.slow.delete(connection);
      else total += bufferedAmount;
    }
    if (total > this.bytes) this.endWorst(total);
  }

  /** @param {number} total Bytes that wait, which are too many */
  endWorst(total) {
    const waiting = Array.from(this.slow, (connection) => ({ connection, bytes: connection.ws.bufferedAmount }));
    waiting.sort((one, other) => other.bytes - one.bytes);
    for (const { connection, bytes } of waiting) {
      if (total <= this.bytes) return;
      total -= bytes;
      this.slow.delete(connection);
      // A listener of another one's 'error' may have ended it.
      if (connection.isOver) continue;
      endsBy(connection.ws, CAUSE.SEND_BUDGET);
      connection.take(ERROR, EMPTY_BUFFER);
      connection.ws.terminate();
    }
  }
}

/** @param {SendBudget} budget The budget, whose streams have been written to */
function look(budget) {
  budget.isComing = false;
  budget.look();
}

module.exports = { sendBudget: new SendBudget() };

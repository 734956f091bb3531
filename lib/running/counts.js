'use strict';

const { ABNORMAL } = require('../reactor/layout');

/** What a server has seen of its connections, for `metrics()`. */
class Counts {
  constructor() {
    this.opened = 0;
    /** Connections that have ended, by the code of 'close'. @type {Map<number, number>} */
    this.closed = new Map();
    /** Handshakes that JavaScript has refused, by status. @type {Map<number, number>} */
    this.refused = new Map();
  }

  /** @param {any} connection One that has ended: a WebSocket, or a handshake before it */
  ended(connection) {
    if (connection._order > 0) add(this.closed, connection._extra?.closeCode ?? ABNORMAL);
  }

  /** @param {number} status Of the answer to an upgrade */
  refusedWith(status) {
    add(this.refused, status);
  }
}

/**
 * @param {Map<number, number>} counts By code or status
 * @param {number} key The one that has come once more
 */
function add(counts, key) {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

module.exports = { Counts };

'use strict';

const { log } = require('../log');
const { ABNORMAL, PROTOCOL_ERRORS } = require('../reactor/layout');

/**
 * A WebSocket, or the handshake of one, as far as it is counted.
 *
 * @typedef {object} Counted
 * @property {number} [_order] Its number among the connections of listeners, counted as they open;
 *   0 or undefined: none of them
 * @property {{ callbacks: unknown, closeCode?: number } | null} _extra `closeCode`: the code of
 *   'close'
 */

/** Counts of a server's connections, for `metrics()`. */
class Counts {
  constructor() {
    this.opened = 0;
    /** Connections that have ended, by the code of 'close'. @type {Map<number, number>} */
    this.closed = new Map();
    /** Connections that have failed, by the code of 'error'. @type {Map<string, number>} */
    this.errors = new Map();
    /** Handshakes that JavaScript has refused, by status. @type {Map<number, number>} */
    this.refused = new Map();
  }

  /** @param {Counted} ws A WebSocket that is open */
  began(ws) {
    this.opened++;
    if (log.enabled) log('connection %d: open', ws._order);
  }

  /** @param {Counted} connection A WebSocket that has ended, or a handshake that has */
  ended(connection) {
    const order = /** @type {number} */ (connection._order);
    if (!(order > 0)) return;
    const code = connection._extra?.closeCode ?? ABNORMAL;
    add(this.closed, code);
    if (log.enabled) log('connection %d: closed with %d', order, code);
  }

  /** @param {number} kind Number of the protocol error for which a connection is closed */
  failed(kind) {
    add(this.errors, PROTOCOL_ERRORS[kind]?.code ?? 'WS_ERR_UNKNOWN');
  }

  /** @param {number} status Status of the answer to an upgrade */
  refusedWith(status) {
    add(this.refused, status);
    if (log.enabled) log('handshake: refused with %d', status);
  }
}

/**
 * @template {string | number} Key
 * @param {Map<Key, number>} counts By code or status
 * @param {Key} key The code or status that has come once more
 */
function add(counts, key) {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

module.exports = { Counts };

'use strict';

// Not that of the world that this is loaded in: a test may have put another in its place.
const { clearTimeout, setTimeout } = require('node:timers');

const { CLIENT } = require('../bits');
const { OPEN } = require('../constants');

/** @import { StreamConnection } from '../connection/state' */

/** The longest delay a timer takes. */
const LONGEST_DELAY = 2 ** 31 - 1;

/**
 * What silence of the peer of a stream leads to: a ping, or the end. The reactor does the same for
 * its sockets (`src/reactor/connection/deadline.rs`).
 */
class Silence {
  /**
   * @param {StreamConnection} connection
   * @param {number} ping Milliseconds of silence after which there is a ping, and after as many the
   *   end; 0 is never
   * @param {number} idle Milliseconds of silence after which there is the end; 0 is never
   */
  constructor(connection, ping, idle) {
    this.connection = connection;
    this.ping = ping;
    this.idle = idle;
    /** Whether the peer has been pinged since it last spoke. */
    this.isPinged = false;
    this.timer = /** @type {NodeJS.Timeout | undefined} */ (undefined);
    this.arm(this.first());
  }

  /** @returns {number} Milliseconds of silence that are of interest */
  first() {
    return Math.min(this.ping || Infinity, this.idle || Infinity);
  }

  /** The peer has spoken: silence begins anew. */
  heard() {
    if (this.isPinged) this.arm(this.first());
    else this.timer?.refresh();
    this.isPinged = false;
  }

  /** The connection is gone. */
  stop() {
    clearTimeout(this.timer);
  }

  /** @param {number} milliseconds */
  arm(milliseconds) {
    clearTimeout(this.timer);
    this.timer = setTimeout(passed, milliseconds, this);
    // A connection that keeps nothing alive does not do so by being silent.
    this.timer.unref();
  }

  /** The peer has been silent for as long as it may. */
  passed() {
    const { connection, idle, ping } = this;
    const { socket, ws } = connection;
    // The closing handshake has a timer of its own.
    if (ws._readyState !== OPEN) return;
    // A stream that is not read is not silent.
    if (socket.isPaused() || connection.isLagging) {
      this.arm(this.first());
    } else if (ping === 0 || this.isPinged || (idle !== 0 && idle <= ping)) {
      socket.destroy();
    } else {
      this.isPinged = true;
      ws.ping();
      this.arm(idle === 0 ? ping : Math.min(idle - ping, ping));
    }
  }
}

/** @param {Silence} silence */
function passed(silence) {
  silence.passed();
}

/**
 * @param {StreamConnection} connection
 * @returns {Silence | null} None where the peer may be as silent as it likes
 */
function silenceOf(connection) {
  const { ws } = connection;
  // They are options of a server.
  if ((ws._bits & CLIENT) !== 0) return null;
  const ping = milliseconds(ws._options?.pingInterval);
  const idle = milliseconds(ws._options?.idleTimeout);
  return ping === 0 && idle === 0 ? null : new Silence(connection, ping, idle);
}

/**
 * @param {any} given
 * @returns {number} 0 for what is none
 */
function milliseconds(given) {
  return typeof given === 'number' && given > 0 ? Math.min(given, LONGEST_DELAY) : 0;
}

module.exports = { silenceOf };

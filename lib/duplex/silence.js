'use strict';

// Not the global ones: a test may have put others in their place.
const { clearTimeout, setImmediate, setTimeout } = require('node:timers');

const { CLIENT } = require('../bits');
const { endsBy } = require('../connection/cause');
const { OPEN } = require('../constants');
const { CAUSE } = require('../reactor/layout');

/** @import { StreamConnection, WebSocket } from '../connection/state' */

/** Milliseconds: the longest delay that a timer takes. */
const LONGEST_DELAY = 2 ** 31 - 1;

/**
 * Acts when the peer of a stream is silent: with a ping, or with the end. The reactor does the same
 * for its sockets (`src/reactor/connection/deadline.rs`).
 */
class Silence {
  /**
   * @param {StreamConnection} connection The connection whose peer is watched
   * @param {number} ping Milliseconds of silence before a ping, and from then to the end; 0 is
   *   never
   * @param {number} idle Milliseconds of silence before the end; 0 is never
   */
  constructor(connection, ping, idle) {
    this.connection = connection;
    this.ping = ping;
    this.idle = idle;
    /** Whether the peer has been pinged since it last spoke. */
    this.isPinged = false;
    /** Whether the time is over, and what has come by then is being read. */
    this.isDue = false;
    this.timer = /** @type {NodeJS.Timeout | undefined} */ (undefined);
    this.arm(this.first());
  }

  /** @returns {number} Milliseconds of silence before the first step */
  first() {
    return Math.min(this.ping || Infinity, this.idle || Infinity);
  }

  /** The peer has spoken: silence begins anew. */
  heard() {
    this.isDue = false;
    if (this.isPinged) this.arm(this.first());
    else this.timer?.refresh();
    this.isPinged = false;
  }

  /** The connection is gone. */
  stop() {
    this.isDue = false;
    clearTimeout(this.timer);
  }

  /** @param {number} milliseconds Milliseconds until the next step */
  arm(milliseconds) {
    clearTimeout(this.timer);
    this.timer = setTimeout(passed, milliseconds, this);
    // A connection that keeps nothing alive does not do so by being silent.
    this.timer.unref();
  }

  /** The peer has been silent for as long as it may. */
  passed() {
    this.isDue = false;
    const { connection, idle, ping } = this;
    const { socket, ws } = connection;
    // The closing handshake has a timer of its own.
    if (ws._readyState !== OPEN) return;
    // A stream that is not read is not silent.
    if (socket.isPaused() || connection.isLagging) {
      this.arm(this.first());
    } else if (ping === 0 || this.isPinged || (idle !== 0 && idle <= ping)) {
      endsBy(ws, ping === 0 || (idle !== 0 && idle < 2 * ping) ? CAUSE.IDLE_TIMEOUT : CAUSE.PING_TIMEOUT);
      socket.destroy();
    } else {
      this.isPinged = true;
      ws.ping();
      this.arm(idle === 0 ? ping : Math.min(idle - ping, ping));
    }
  }
}

/**
 * JavaScript may have been busy, or the process stopped: Node reads its sockets after its timers. An
 * immediate that is unreferenced would wait for the next event, for which nothing else may be due.
 *
 * @param {Silence} silence The silence whose timer ended
 */
function passed(silence) {
  silence.isDue = true;
  setImmediate(judge, silence);
}

/** @param {Silence} silence The same, with all read that had come */
function judge(silence) {
  if (silence.isDue) silence.passed();
}

/**
 * @param {StreamConnection} connection The connection of a new WebSocket
 * @returns {Silence | null} The watch; none where the peer may be silent for ever
 */
function silenceOf(connection) {
  const { ws } = connection;
  // The options are those of a server.
  if ((ws._bits & CLIENT) !== 0) return null;
  const [ping, idle] = [milliseconds(ws, 'pingInterval'), milliseconds(ws, 'idleTimeout')];
  return ping === 0 && idle === 0 ? null : new Silence(connection, ping, idle);
}

/**
 * @param {WebSocket} ws One of a server
 * @param {'pingInterval' | 'idleTimeout'} name An option of the server
 * @returns {number} Its milliseconds; 0, which is never, for what is not a positive number
 */
function milliseconds({ _options: options }, name) {
  // Own properties only: a program may have extended Object.prototype.
  const given = options && Object.hasOwn(options, name) ? options[name] : 0;
  return typeof given === 'number' && given > 0 ? Math.min(given, LONGEST_DELAY) : 0;
}

module.exports = { silenceOf };

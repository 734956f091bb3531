'use strict';

/** 'timeout' is late by at most this part of the time. */
const GRAIN = 1 / 8;

/** Emits 'timeout' of a socket after some time without a byte in either direction. */
class IdleTimer {
  /** @param {InstanceType<typeof import('./socket').Socket>} socket */
  constructor(socket) {
    this.socket = socket;
    this.limit = 0;
    this.bytes = 0;
    this.since = 0;
    /** @type {NodeJS.Timeout | undefined} */
    this.timer = undefined;
  }

  /** 0: never. Throws as Node does. @param {unknown} milliseconds */
  set(milliseconds) {
    if (typeof milliseconds !== 'number') {
      const error = new TypeError('The "msecs" argument must be of type number.');
      throw Object.assign(error, { code: 'ERR_INVALID_ARG_TYPE' });
    }
    if (milliseconds < 0 || !Number.isFinite(milliseconds)) {
      const error = new RangeError('The value of "msecs" is out of range. It must be a non-negative finite number.');
      throw Object.assign(error, { code: 'ERR_OUT_OF_RANGE' });
    }
    clearInterval(this.timer);
    this.limit = milliseconds;
    if (milliseconds === 0) return;
    this.moved();
    this.timer = setInterval(() => this.poll(), Math.max(milliseconds * GRAIN, 1));
    this.timer.unref();
  }

  moved() {
    this.bytes = this.socket.bytesRead + this.socket.bytesWritten;
    this.since = performance.now();
  }

  poll() {
    if (this.bytes !== this.socket.bytesRead + this.socket.bytesWritten) {
      this.moved();
    } else if (performance.now() - this.since >= this.limit) {
      // Once per silence, as in Node.
      this.since = Infinity;
      this.socket.emit('timeout');
    }
  }
}

module.exports = { IdleTimer };

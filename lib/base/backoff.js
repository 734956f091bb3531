'use strict';

/** How long to wait until something is tried again: each time twice as long, up to `most` milliseconds. */
class Backoff {
  /** @param {number} first @param {number} most */
  constructor(first, most) {
    this.first = first;
    this.most = most;
    this.delay = first;
  }

  next() {
    const { delay } = this;
    this.delay = Math.min(2 * delay, this.most);
    return delay;
  }

  reset() {
    this.delay = this.first;
  }
}

module.exports = { Backoff };

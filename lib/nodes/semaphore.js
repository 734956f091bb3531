'use strict';

const { Fifo } = require('../base/fifo');

/** Milliseconds for which others wait for a job: it can hang while others would not. */
const TIMEOUT = 2000;

/** Limits the number of concurrent jobs. Urgent ones come first. */
class Semaphore {
  /** @param {number} most */
  constructor(most) {
    this.left = most;
    /** Urgent jobs, and others. */
    this.queues = /** @type {Array<import('../base/fifo').FifoOf<() => void>>} */ ([new Fifo(), new Fifo()]);
  }

  /** @type {(work: () => Promise<void>, isUrgent: boolean) => Promise<void>} */
  async run(work, isUrgent) {
    if (this.left === 0) await new Promise((resolve) => this.queues[isUrgent ? 0 : 1].push(() => resolve(undefined)));
    else this.left--;
    let late = /** @type {NodeJS.Timeout | null} */ (setTimeout(() => {
      late = null;
      this.next();
    }, TIMEOUT).unref());
    try {
      await work();
    } finally {
      if (late !== null) {
        clearTimeout(late);
        this.next();
      }
    }
  }

  next() {
    const next = this.queues[0].shift() ?? this.queues[1].shift();
    if (next !== undefined) next();
    else this.left++;
  }
}

module.exports = { Semaphore };

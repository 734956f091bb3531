'use strict';

/** Runs at most so many works at a time, urgent ones first. */
class Lanes {
  /** @param {number} most */
  constructor(most) {
    this.left = most;
    /** Those that come first, and others. */
    this.queues = [new Queue(), new Queue()];
  }

  /** @type {(work: () => Promise<void>, isUrgent: boolean) => Promise<void>} */
  async run(work, isUrgent) {
    if (this.left === 0) await new Promise((resolve) => this.queues[isUrgent ? 0 : 1].all.add(() => resolve(undefined)));
    else this.left--;
    try {
      await work();
    } finally {
      const next = this.queues[0].take() ?? this.queues[1].take();
      if (next !== undefined) next();
      else this.left++;
    }
  }
}

/** An array would move all that follows the first one, and a new iterator would pass over all that are gone. */
class Queue {
  /** @type {Set<() => void>} */
  all = new Set();
  next = this.all.values();

  take() {
    let { value } = this.next.next();
    if (value === undefined) ({ value } = (this.next = this.all.values()).next());
    if (value !== undefined) this.all.delete(value);
    return value;
  }
}

module.exports = { Lanes };

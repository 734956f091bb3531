'use strict';

/** Factor by which steps can be faster, to make up for a busy thread. */
const MAX_SPEEDUP = 1.15;

/** Lost milliseconds that are made up for at once. */
const GRACE = 50;

/**
 * Spreads steps evenly over a time, each at a random moment of its own slot. Late steps do not come all at once: no
 * second has more than 1.21 times the mean, plus two.
 */
class Spread {
  /**
   * @param {number} steps
   * @param {number} duration
   * @param {number} now
   * @param {() => number} [random] From 0 to 1
   */
  constructor(steps, duration, now, random = Math.random) {
    this.left = steps;
    this.slot = steps === 0 ? 0 : duration / steps;
    this.random = random;
    this.start = now;
    this.taken = 0;
    /** When the next step is due. */
    this.next = now + this.slot * random();
  }

  /** @param {number} now */
  take(now) {
    let due = 0;
    while (this.left > 0 && this.next <= now) {
      due++;
      this.left--;
      this.taken++;
      const planned = this.start + this.slot * (this.taken + this.random());
      this.next = Math.max(planned, Math.max(this.next, now - GRACE) + this.slot / MAX_SPEEDUP);
    }
    return due;
  }
}

module.exports = { Spread };

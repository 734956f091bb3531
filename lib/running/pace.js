'use strict';

/**
 * The factor by which steps may come faster than planned, to make up for time lost by a busy
 * thread.
 */
const HASTE = 1.15;

/** The most milliseconds of lost time that are made up for at once. */
const GRACE = 50;

/**
 * Spreads steps evenly over a time: each has a slot of its own, in which its moment is chosen at
 * random. Late steps do not come all at once: no second has more steps than 1.21 times the mean
 * plus two.
 */
class Pace {
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
    /** The time at which the next step is due. */
    this.next = now + this.slot * random();
  }

  /** Adds a step. @type {(now: number) => void} */
  add(now) {
    this.left++;
    this.next = Math.max(this.next, now);
  }

  /** @type {(now: number) => number} */
  take(now) {
    let due = 0;
    while (this.left > 0 && this.next <= now) {
      due++;
      this.left--;
      this.taken++;
      const planned = this.start + this.slot * (this.taken + this.random());
      this.next = Math.max(planned, Math.max(this.next, now - GRACE) + this.slot / HASTE);
    }
    return due;
  }
}

module.exports = { Pace };

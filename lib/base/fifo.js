'use strict';

/** From this length on, nothing moves when one is taken: `shift()` of a long array moves all others. */
const LONG = 64;

/** Gives its elements in the order in which they came, however many wait. @template T */
class Fifo {
  /** @type {Array<T | undefined>} */
  #all = [];
  /** The oldest one. Those before it have been taken. */
  #next = 0;

  get length() {
    return this.#all.length - this.#next;
  }

  get first() {
    return this.#all[this.#next];
  }

  /** Returns the new length. @param {T} one */
  push(one) {
    return this.#all.push(one) - this.#next;
  }

  /** Takes back what came last. */
  pop() {
    if (this.length !== 0) this.#all.pop();
  }

  shift() {
    const all = this.#all;
    if (this.#next === 0 && all.length < LONG) return all.shift();
    const one = all[this.#next];
    all[this.#next++] = undefined;
    if (2 * this.#next >= all.length) {
      all.splice(0, this.#next);
      this.#next = 0;
    }
    return one;
  }

  /** The oldest ones, or all. */
  take(count = this.length) {
    const taken = /** @type {T[]} */ ([]);
    for (let left = Math.min(count, this.length); left > 0; left--) taken.push(/** @type {T} */ (this.shift()));
    return taken;
  }
}

/** @template T @typedef {Fifo<T>} FifoOf */

module.exports = { Fifo };

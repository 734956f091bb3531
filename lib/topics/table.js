'use strict';

// A table of topics that is never copied as a whole: a Map of a million entries takes 19 ms for
// that, each time it grows or shrinks, in the middle of a turn.

/** A table with more entries consists of as many parts as PARTS, a power of two. */
const FEW = 4096;
const PARTS = 1024;

/** The most characters of a name that decide in which part it is. */
const SAMPLED_SHIFT = 4;

/**
 * @template {string | number} K
 * @template V
 * @typedef {Table<K, V>} AnyTable
 */

/**
 * @template {string | number} K
 * @template V
 */
class Table {
  /** @param {(key: K) => number} partOf Number of the part of a key, from 0 to PARTS - 1 */
  constructor(partOf) {
    this.partOf = partOf;
    this.size = 0;
    /** @type {Map<K, V>} */
    this.few = new Map();
    /** All entries, once there have been many. @type {Array<Map<K, V>> | null} */
    this.parts = null;
  }

  /**
   * @param {K} key A key
   * @returns {Map<K, V>} The map that has it if the table has it
   */
  part(key) {
    return this.parts === null ? this.few : this.parts[this.partOf(key)];
  }

  /** @param {K} key A key */
  get(key) {
    return this.part(key).get(key);
  }

  /** @param {K} key A key */
  has(key) {
    return this.part(key).has(key);
  }

  /**
   * @param {K} key A key that the table does not have
   * @param {V} value Its value
   */
  add(key, value) {
    if (this.parts === null && this.size === FEW) this.divide();
    this.part(key).set(key, value);
    this.size++;
  }

  /** @param {K} key A key, in the table or not */
  delete(key) {
    if (!this.part(key).delete(key)) return;
    if (--this.size === 0 && this.parts !== null) [this.few, this.parts] = [new Map(), null];
  }

  divide() {
    const { few, partOf } = this;
    const parts = Array.from({ length: PARTS }, () => /** @type {Map<K, V>} */ (new Map()));
    for (const [key, value] of few) parts[partOf(key)].set(key, value);
    // An iterator that is under way goes on with `few`.
    [this.few, this.parts] = [new Map(), parts];
  }

  /** @returns {Generator<[K, V], void>} In the order of `add`, unless there have been many */
  *[Symbol.iterator]() {
    for (const part of this.parts ?? [this.few]) yield* part;
  }
}

/** @param {string} name A name */
function partOfName(name) {
  const { length } = name;
  const step = 1 + (length >>> SAMPLED_SHIFT);
  let hash = length;
  for (let at = length - 1; at >= 0; at -= step) hash = Math.imul(hash ^ name.charCodeAt(at), 0x9e3779b1);
  return (hash ^ (hash >>> 15)) & (PARTS - 1);
}

/** @param {number} number A number that is counted up */
function partOfNumber(number) {
  return number & (PARTS - 1);
}

module.exports = { FEW, Table, partOfName, partOfNumber };

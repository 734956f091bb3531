'use strict';

// Not the global one: a test may have put another in its place.
const { setImmediate } = require('node:timers');

const { capture, root } = require('../async-context');
const { checkpoint } = require('../reactor/checkpoint');

/** @import { AsyncResource } from 'node:async_hooks' */

/** The cost of a run beside its work, in bytes. */
const LEAST_COST = 64;

/**
 * @typedef {object} Worker A party with work that takes long
 * @property {Stint} stint Where it stands among the others
 * @property {(room: number) => void} work Does some of its work: `room` bytes, and the rest of the
 *   step in hand. It notes the outcome in its stint, also when it throws
 */

/** The place of a worker among the others. */
class Stint {
  constructor() {
    // The outcome of the last run: bytes worked on, whether there is more to do, and whether that
    // begins anew, behind what handlers have got.
    this.done = 0;
    this.isMore = false;
    this.isAnew = false;
    /** The point, in bytes of the work of all, up to which it has had its share. */
    this.finish = 0;
    /** Bytes worked on since it last began something. */
    this.had = 0;
    /** The async context that it runs in, if it has waited. @type {AsyncResource | null} */
    this.context = null;
  }
}

/**
 * Work of which each turn of the event loop does a bounded amount. The worker that has had least
 * comes first (start-time fair queueing): one with little to do waits only for its like. Work that
 * takes more than a slice has half of each turn, and its workers come one after the other.
 */
class Turns {
  /**
   * @param {object} settings The amounts done at once
   * @param {number} settings.bytes Bytes of one turn
   * @param {number} settings.slice Bytes of one worker before it counts as long
   * @param {boolean} settings.alternates Whether long workers take turns. If not, each is done
   *   before the next goes on: for work that takes memory until it is done
   * @param {() => void} [settings.onTurn] Called when a turn has ended
   */
  constructor({ bytes, slice, alternates, onTurn = () => {} }) {
    this.bytes = bytes;
    this.slice = slice;
    this.alternates = alternates;
    this.onTurn = onTurn;
    /** Bytes that this turn may still do, and how many of them workers that are not long may. */
    this.left = bytes;
    this.leftOfShort = bytes;
    this.now = 0;
    this.count = 0;
    /** Workers that wait, the next one at the head. @type {Heap} */
    this.short = new Heap();
    /** Workers that wait in the middle of something long. @type {Worker[]} */
    this.long = [];
    this.isComing = false;
  }

  /**
   * A worker has something new to do. That is done at once if there is room in this turn and no
   * other worker comes first.
   *
   * @param {Worker} worker The worker with something to do
   * @returns {boolean} False: the worker waits
   */
  enter(worker) {
    const { stint } = worker;
    const start = Math.max(this.now, stint.finish);
    if (this.left > 0 && !this.short.isBefore(start)) {
      this.run(worker, start, this.slice);
      return true;
    }
    stint.context ??= capture();
    this.wait(worker, start);
    return false;
  }

  /**
   * Counts work that was done without asking.
   *
   * @param {Stint} stint The stint of the worker that has done it
   * @param {number} bytes Bytes worked on
   */
  spend(stint, bytes) {
    this.left -= bytes;
    stint.finish = Math.max(this.now, stint.finish) + bytes;
    this.comeBack();
  }

  /**
   * @param {Worker} worker The worker whose turn it is
   * @param {number} start The point in the work of all at which its share begins
   * @param {number} most Bytes that it may work on
   */
  run(worker, start, most) {
    const { stint } = worker;
    const { context } = stint;
    const room = Math.min(this.left, most);
    this.now = Math.max(this.now, start);
    stint.done = 0;
    stint.isMore = stint.isAnew = false;
    try {
      if (context === null) worker.work(room);
      else context.runInAsyncScope(worker.work, worker, room);
    } finally {
      this.account(worker, start);
    }
  }

  /**
   * @param {Worker} worker The worker whose turn has ended
   * @param {number} start The point at which that began
   */
  account(worker, start) {
    const { stint } = worker;
    stint.finish = Math.max(start, stint.finish) + stint.done + LEAST_COST;
    stint.had = stint.isAnew ? 0 : stint.had + stint.done;
    this.left -= stint.done;
    if (stint.done !== 0 || stint.isMore) this.comeBack();
    if (!stint.isMore) {
      stint.had = 0;
      stint.context = null;
      return;
    }
    stint.context ??= capture();
    // What a handler has put off comes before what is new.
    if (stint.isAnew) root.runInAsyncScope(setImmediate, null, enterAgain, this, worker);
    else if (stint.had < this.slice) this.wait(worker, stint.finish);
    else if (this.alternates || stint.had === stint.done) this.long.push(worker);
    else this.long.unshift(worker);
  }

  /**
   * @param {Worker} worker The worker that has to wait
   * @param {number} start The point at which its share begins
   */
  wait(worker, start) {
    this.short.push({ order: this.count++, start, worker });
    this.comeBack();
  }

  comeBack() {
    if (this.isComing) return;
    this.isComing = true;
    // Outside of the async context of the first worker.
    root.runInAsyncScope(setImmediate, null, beginTurn, this);
  }

  /** A turn of the workers that wait. */
  serve() {
    this.isComing = false;
    this.left = this.bytes;
    this.leftOfShort = this.bytes / 2;
    this.onTurn();
    // Work that has to wait because of one of them is done in the next turn.
    let runs = this.short.list.length + this.long.length;
    try {
      while (this.left > 0 && runs-- > 0 && this.serveOne()) checkpoint();
    } finally {
      if (this.short.list.length + this.long.length !== 0) this.comeBack();
    }
  }

  /** @returns {boolean} Whether there was a worker to serve */
  serveOne() {
    const isLong = this.long.length !== 0 && (this.leftOfShort <= 0 || this.short.list.length === 0);
    if (isLong) {
      const worker = /** @type {Worker} */ (this.long.shift());
      this.run(worker, Math.max(this.now, worker.stint.finish), this.alternates ? this.slice : Infinity);
      return true;
    }
    const entry = this.short.pop();
    if (entry === undefined) return false;
    const before = this.left;
    try {
      this.run(entry.worker, entry.start, this.slice);
    } finally {
      this.leftOfShort -= before - this.left;
    }
    return true;
  }
}

/**
 * @param {Turns} turns Where the worker waits
 * @param {Worker} worker The worker that begins something new
 */
function enterAgain(turns, worker) {
  turns.enter(worker);
}

/** @param {Turns} turns The queue whose turn it is */
function beginTurn(turns) {
  turns.serve();
}

/**
 * @typedef {object} Entry
 * @property {number} start The point at which its share begins
 * @property {number} order Order of entries with the same start
 * @property {Worker} worker The worker that waits
 */

/** Entries by start. */
class Heap {
  constructor() {
    /** A binary heap: an entry comes before those at 2i + 1 and 2i + 2. @type {Entry[]} */
    this.list = [];
  }

  /**
   * @param {number} start The point at which the share of the new entry begins
   * @returns {boolean} Whether an entry comes before a new one with this start
   */
  isBefore(start) {
    return this.list.length !== 0 && this.list[0].start <= start;
  }

  /** @param {Entry} entry A worker that waits */
  push(entry) {
    const { list } = this;
    let at = list.push(entry) - 1;
    while (at !== 0) {
      const above = (at - 1) >> 1;
      if (!comesFirst(entry, list[above])) break;
      list[at] = list[above];
      at = above;
    }
    list[at] = entry;
  }

  /** @returns {Entry | undefined} The first one, which is taken out */
  pop() {
    const { list } = this;
    const first = list[0];
    const last = list.pop();
    if (last === undefined || list.length === 0) return first;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below + 1 < list.length && comesFirst(list[below + 1], list[below])) below++;
      if (below >= list.length || !comesFirst(list[below], last)) break;
      list[at] = list[below];
      at = below;
    }
    list[at] = last;
    return first;
  }
}

/**
 * @param {Entry} one An entry of the heap
 * @param {Entry} other Another entry
 */
function comesFirst(one, other) {
  return one.start < other.start || (one.start === other.start && one.order < other.order);
}

/**
 * Bytes that are inflated in a turn of the event loop for all streams, and for one of them before
 * the others have their share.
 */
const inflating = new Turns({ bytes: 1024 * 1024, slice: 128 * 1024, alternates: false });

module.exports = { Stint, Turns, inflating };

'use strict';

// Keeps the node subscribed at the broker to the topics with local subscribers.

const { Backoff } = require('../base/backoff');

/** @import { Adapter } from '../../types/adapter' */

/** Delay in milliseconds before a topic without subscribers is unsubscribed: they can come back. */
const UNSUBSCRIBE_DELAY = 5000;

/** Most topics of one call, and most concurrent calls: peers can join and leave any number of topics while the broker is away. */
const BATCH = 512;
const MAX_CALLS = 64;

/** Milliseconds after which a refused call is made again, the first time and at most; until then there is one call in the first of them for new topics. */
const RETRY = 250;
const MAX_RETRY = 10_000;

/** `NEW`: no call was made, or it was refused; `SUBSCRIBING`: a call is under way. */
const NEW = 0;
const SUBSCRIBING = 1;
const SUBSCRIBED = 2;

/** `isKnown`: a call has been made. @typedef {{ name: string, state: number, isKnown: boolean, isWanted: boolean, since: number, waiting: Set<() => void> }} Entry */

class SubscriptionSync {
  /**
   * `on`: subscribed; `off`: unsubscribed; `failed`: the adapter has refused.
   *
   * @param {Adapter} adapter
   * @param {{ on(name: string): void, off(name: string): void, failed(error: unknown): void }} events
   */
  constructor(adapter, events) {
    this.adapter = adapter;
    this.events = events;
    /** @type {Map<string, Entry>} */
    this.all = new Map();
    /** Topics without subscribers, longest first. @type {Set<Entry>} */
    this.idle = new Set();
    /** Topics of the next calls. @type {Set<Entry>} */
    this.toSubscribe = new Set();
    this.calls = 0;
    /** @type {string[]} */
    this.toUnsubscribe = [];
    this.isOpen = false;
    this.isScheduled = false;
    this.backoff = new Backoff(RETRY, MAX_RETRY);
    /** Topics of refused calls. @type {Set<Entry>} */
    this.refused = new Set();
    /** The last refused call accepted some topics: others need not wait. */
    this.isPartial = false;
    this.retrying = /** @type {NodeJS.Timeout | undefined} */ (undefined);
    this.timer = /** @type {NodeJS.Timeout | undefined} */ (undefined);
  }

  /** The adapter has started. */
  open() {
    this.isOpen = true;
    this.schedule();
  }

  /** The topic has its first local subscriber. @param {string} name */
  subscribe(name) {
    const known = this.all.get(name);
    if (known !== undefined) {
      known.isWanted = true;
      this.idle.delete(known);
      if (known.state === SUBSCRIBED) this.events.on(name);
      return;
    }
    const entry = { name, state: NEW, isKnown: false, isWanted: true, since: 0, waiting: new Set() };
    this.all.set(name, entry);
    this.toSubscribe.add(entry);
    this.schedule();
  }

  /** The topic has lost its last subscriber. @param {string} name */
  unsubscribe(name) {
    const entry = this.all.get(name);
    if (entry === undefined || !entry.isWanted) return;
    entry.isWanted = false;
    if (entry.state === NEW) return this.drop(entry);
    entry.since = performance.now();
    this.idle.add(entry);
    this.sweepLater(UNSUBSCRIBE_DELAY);
  }

  /** Forgets a topic without subscribers and without messages. @param {Entry} entry */
  drop(entry) {
    this.all.delete(entry.name);
    if (entry.isKnown) this.queueUnsubscribe(entry.name);
    for (const entries of [this.toSubscribe, this.refused, this.idle]) entries.delete(entry);
    for (const callback of entry.waiting) callback();
  }

  /** The adapter can have kept a part of a call that it refused. @param {string} name */
  queueUnsubscribe(name) {
    this.toUnsubscribe.push(name);
    this.schedule();
  }

  /** Whether it has subscribers, or had some a moment ago. @param {string} name */
  has(name) {
    return this.all.has(name);
  }

  /** Whether the topic is subscribed at the broker. @param {string} name */
  isActive(name) {
    return this.all.get(name)?.state === SUBSCRIBED;
  }

  /** Calls back when it is subscribed, or dropped, until `cancelWait`. @type {(name: string, callback: () => void) => void} */
  whenActive(name, callback) {
    const entry = this.all.get(name);
    if (entry === undefined || entry.state === SUBSCRIBED) callback();
    else entry.waiting.add(callback);
  }

  /** @type {(name: string, callback: () => void) => void} */
  cancelWait(name, callback) {
    this.all.get(name)?.waiting.delete(callback);
  }

  schedule() {
    if (this.isScheduled || !this.isOpen) return;
    this.isScheduled = true;
    const flush = () => {
      this.isScheduled = false;
      this.flush();
    };
    if (this.retrying === undefined || this.isPartial) process.nextTick(flush);
    else setTimeout(flush, RETRY).unref();
  }

  flush() {
    const { toSubscribe, toUnsubscribe } = this;
    this.toUnsubscribe = [];
    if (!this.isOpen) return;
    for (let start = 0; start < toUnsubscribe.length; start += BATCH) {
      attempt(() => this.adapter.unsubscribe(toUnsubscribe.slice(start, start + BATCH))).catch(this.events.failed);
    }
    while (toSubscribe.size !== 0 && this.calls < MAX_CALLS) {
      const entries = /** @type {Entry[]} */ ([]);
      for (const entry of toSubscribe) {
        toSubscribe.delete(entry);
        if (entries.push(entry) === BATCH) break;
      }
      void this.subscribeBatch(entries);
    }
  }

  /** @param {Entry[]} entries */
  async subscribeBatch(entries) {
    const names = entries.map(({ name }) => name);
    const refused = new Set();
    for (const entry of entries) Object.assign(entry, { isKnown: true, state: SUBSCRIBING });
    this.calls++;
    try {
      await attempt(() => this.adapter.subscribe(names));
      if (this.refused.size === 0) this.backoff.reset();
    } catch (error) {
      if (!this.isOpen) return;
      this.events.failed(error);
      const topics = /** @type {{ topics?: unknown } | null | undefined} */ (error)?.topics;
      this.isPartial = Array.isArray(topics);
      for (const name of Array.isArray(topics) ? topics : names) refused.add(name);
      this.retrying ??= setTimeout(() => {
        this.retrying = undefined;
        for (const entry of this.refused) this.toSubscribe.add(entry);
        this.refused.clear();
        this.schedule();
      }, this.backoff.next()).unref();
    } finally {
      this.calls--;
      if (this.toSubscribe.size !== 0) this.schedule();
    }
    for (const entry of entries) {
      if (!this.isOpen) return;
      if (refused.has(entry.name)) {
        entry.state = NEW;
        if (entry.isWanted) this.refused.add(entry);
        else this.drop(entry);
        continue;
      }
      entry.state = SUBSCRIBED;
      this.events.on(entry.name);
      for (const callback of entry.waiting) callback();
    }
  }

  /** @param {number} milliseconds */
  sweepLater(milliseconds) {
    if (this.timer !== undefined) return;
    this.timer = setTimeout(() => this.sweep(), milliseconds);
    this.timer.unref();
  }

  /** Unsubscribes topics that have had no subscribers for a while. */
  sweep() {
    this.timer = undefined;
    const now = performance.now();
    for (const entry of this.idle) {
      if (now - entry.since < UNSUBSCRIBE_DELAY) return this.sweepLater(UNSUBSCRIBE_DELAY - (now - entry.since));
      this.idle.delete(entry);
      // The call that is under way would come after this one.
      if (entry.state !== SUBSCRIBED) {
        entry.since = now;
        this.idle.add(entry);
        continue;
      }
      this.all.delete(entry.name);
      this.queueUnsubscribe(entry.name);
      this.events.off(entry.name);
    }
    if (this.idle.size !== 0) this.sweepLater(UNSUBSCRIBE_DELAY);
  }

  close() {
    this.isOpen = false;
    clearTimeout(this.timer);
    clearTimeout(this.retrying);
    for (const { waiting } of this.all.values()) for (const callback of waiting) callback();
  }
}

/** Turns an exception of an adapter into a rejection. @template T @param {() => T | Promise<T>} call @returns {Promise<T>} */
async function attempt(call) {
  return call();
}

module.exports = { SubscriptionSync, attempt };

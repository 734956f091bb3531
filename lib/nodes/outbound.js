'use strict';

// Messages of a node that its broker has not confirmed. Their bytes are bounded.

const { attempt } = require('./subscription-sync');

/** @import { Adapter, PublishSettings } from '../../types/adapter' */
/** @import { Position } from '../../types/topics' */

/** Approximate bytes of a message beside its own until the broker has confirmed it, and of a call about a topic with a history. */
const OVERHEAD = 2048;
const CALL = 8192;

/** @typedef {(error: Error | null, position?: Position) => void} OnPublished */

class Outbound {
  /**
   * @param {Adapter} adapter
   * @param {{ limit: number, rejects: boolean }} options
   * @param {Record<'sent' | 'bytesSent' | 'dropped', number>} counts
   * @param {{ failed(error: unknown): void, dropped(): void }} events
   */
  constructor(adapter, { limit, rejects }, counts, events) {
    this.adapter = adapter;
    this.limit = limit;
    this.rejects = rejects;
    this.counts = counts;
    this.events = events;
    /** Messages that the broker has not confirmed, oldest first. @type {Set<{ at: number }>} */
    this.unconfirmed = new Set();
    this.bytesWaiting = 0;
    /** Sends before the start. @type {Array<() => void> | null} */
    this.deferred = [];
    this.isClosed = false;
  }

  /** Seconds for which the oldest message has waited. */
  get lag() {
    const [oldest] = this.unconfirmed;
    return oldest === undefined ? 0 : (performance.now() - oldest.at) / 1000;
  }

  /** @param {number} size */
  hasRoom(size) {
    return this.bytesWaiting === 0 || this.bytesWaiting + size <= this.limit;
  }

  /** The bytes that a message counts; 0 without room for it. @type {(length: number, isCall: boolean) => number} @throws {Overflow} */
  admit(length, isCall) {
    const size = OVERHEAD + length + (isCall ? CALL : 0);
    if (this.hasRoom(size)) {
      this.bytesWaiting += size;
      return size;
    }
    if (this.rejects) throw new Overflow(this.limit);
    this.counts.dropped++;
    this.events.dropped();
    return 0;
  }

  /** An admitted message. @type {(name: string, bytes: Buffer, size: number, settings: PublishSettings, published: OnPublished) => void} */
  send(name, bytes, size, settings, published) {
    const one = { at: performance.now() };
    this.unconfirmed.add(one);
    /** @type {OnPublished} */
    const settle = (error, position) => {
      this.unconfirmed.delete(one);
      this.bytesWaiting -= size;
      if (error !== null) this.events.failed(error);
      published(error, position);
    };
    const send = () => {
      if (this.isClosed) return settle(new Error('The server is closed'));
      this.counts.sent++;
      this.counts.bytesSent += bytes.length;
      attempt(() => this.adapter.publish(name, bytes, settings)).then(
        (position) => settle(null, position ?? undefined),
        (error) => settle(errorOf(error)),
      );
    };
    if (this.deferred === null) send();
    else this.deferred.push(send);
  }

  /** A message that this node does not deliver itself. Calls `onFailed` if the broker refuses it, or if it is not urgent and there is no room. @type {(name: string, bytes: Buffer, isUrgent: boolean, onFailed: () => void) => void} */
  announce(name, bytes, isUrgent, onFailed) {
    const size = OVERHEAD + bytes.length;
    if (!isUrgent && !this.hasRoom(size)) return onFailed();
    this.bytesWaiting += size;
    this.send(name, bytes, size, {}, (error) => error !== null && onFailed());
  }

  /** The adapter has started. */
  open() {
    const deferred = this.deferred ?? [];
    this.deferred = null;
    for (const send of deferred) send();
  }

  close() {
    this.isClosed = true;
    this.open();
  }
}

/** The messages that wait for the broker exceed the limit. */
class Overflow extends Error {
  code = 'REACTOR_WS_ADAPTER_FULL';

  /** @param {number} limit */
  constructor(limit) {
    super(`The broker has not confirmed ${limit} bytes of messages: options.adapterLimit`);
  }
}

/** @param {unknown} error */
function errorOf(error) {
  if (error instanceof Error) return error;
  try {
    return new Error(String(error));
  } catch {
    return new Error('The adapter has thrown an object that is no error');
  }
}

module.exports = { Outbound, Overflow, errorOf };

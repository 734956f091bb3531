'use strict';

// Messages of a node on their way to its broker: what waits has a bound.

const { attempt } = require('./subscription-sync');

/** @import { Adapter, PublishSettings } from '../../types/adapter' */
/** @import { Position } from '../../types/topics' */

/** Bytes that a message takes beside its own until the broker has confirmed it, about. */
const OVERHEAD = 1024;

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
    /** Before the start. @type {Array<() => void> | null} */
    this.held = [];
    this.isClosed = false;
  }

  /** Seconds for which the oldest message has waited. */
  get lag() {
    const [oldest] = this.unconfirmed;
    return oldest === undefined ? 0 : (performance.now() - oldest.at) / 1000;
  }

  /** @param {number} length */
  hasRoom(length) {
    return this.bytesWaiting === 0 || this.bytesWaiting + OVERHEAD + length <= this.limit;
  }

  /** Whether there is room for a message. @param {number} length @throws {Overflow} */
  admit(length) {
    if (this.hasRoom(length)) {
      this.bytesWaiting += OVERHEAD + length;
      return true;
    }
    if (this.rejects) throw new Overflow(this.limit);
    this.counts.dropped++;
    this.events.dropped();
    return false;
  }

  /** An admitted message. @type {(name: string, bytes: Buffer, settings: PublishSettings, published?: OnPublished) => void} */
  send(name, bytes, settings, published) {
    const one = { at: performance.now() };
    this.unconfirmed.add(one);
    /** @type {OnPublished} */
    const settle = (error, position) => {
      this.unconfirmed.delete(one);
      this.bytesWaiting -= OVERHEAD + bytes.length;
      if (error !== null) this.events.failed(error);
      published?.(error, position);
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
    if (this.held === null) send();
    else this.held.push(send);
  }

  /** A message that this node does not deliver itself. Calls `onFailed` if the broker refuses it, or if it is not urgent and there is no room. @type {(name: string, bytes: Buffer, isUrgent: boolean, onFailed: () => void) => void} */
  tell(name, bytes, isUrgent, onFailed) {
    if (!isUrgent && !this.hasRoom(bytes.length)) return onFailed();
    this.bytesWaiting += OVERHEAD + bytes.length;
    this.send(name, bytes, {}, (error) => error !== null && onFailed());
  }

  /** The adapter has started. */
  open() {
    const held = this.held ?? [];
    this.held = null;
    for (const send of held) send();
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

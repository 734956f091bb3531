'use strict';

const { GONE } = require('../base/bits');
const { OPEN } = require('../base/constants');
const { startOf, subscribe, unsubscribe } = require('./records');
const { nextRequest } = require('./requests');
const { topicsOf } = require('./registry');

/** @import { Server, WebSocket } from '../connection/state' */
/** @import { Position, Subscribed } from '../../types/topics' */
/** @import { AnyTopic } from './topic' */

/** @typedef {(result: Subscribed) => void} SubscribedCallback */

/** Topics that an ended connection leaves per turn. */
const MAX_PARTED = 4096;

class Subscriptions {
  /** @param {WebSocket} ws */
  constructor(ws) {
    this.ws = ws;
    this.topics = topicsOf(/** @type {Server} */ (ws._owner));
    /** @type {Set<AnyTopic>} */
    this.joined = new Set();
    /** Its reactor has their names, for the next process. */
    this.isTold = false;
    /** Waiting callbacks, by request. @type {Map<number, { topic: AnyTopic, callback: SubscribedCallback }> | null} */
    this.pending = null;
    /** Call callbacks that wait for a broker. @type {Set<() => void> | null} */
    this.late = null;
    /** Histories that it waits for, with its subscribers. @type {Map<import('../nodes/shared-history').History, Set<import('../nodes/shared-history').PendingSubscriber>> | null} */
    this.pendingHistories = null;
    /** Its entries, by topic. @type {Map<{ part(number: number, isCut: boolean): void }, number> | null} */
    this.present = null;
  }

  /**
   * Returns false if `topicOptions` has closed the connection.
   *
   * @type {(name: string, since?: Position | 'oldest', callback?: SubscribedCallback) => boolean}
   */
  join(name, since, callback) {
    const { topics } = this;
    const settings = topics.all.get(name)?.settings ?? topics.settings(name);
    if (!isOpen(this.ws)) return false;
    this.enter(topics.create(name, settings, true), since, callback);
    return true;
  }

  /** @type {(topic: AnyTopic, since?: Position | 'oldest', callback?: SubscribedCallback) => void} */
  enter(topic, since, callback) {
    const isNew = !this.joined.has(topic);
    this.topics.register(topic);
    if (isNew) topic.size++;
    if (topic.isRemote && topic.size === 1) this.topics.clusterNode?.onFirstSubscriber(topic);
    if (topic.shared !== null && !topic.shared.has(since)) topic.shared.wait(this, since, callback);
    else this.request(topic, since, callback);
    if (!isNew) return;
    this.joined.add(topic);
    this.isTold = false;
    if (topic.size === 1) this.topics.onFirstSubscriber(topic);
  }

  /** The reactor makes it a member. @type {(topic: AnyTopic, since?: Position | 'oldest', callback?: SubscribedCallback) => void} */
  request(topic, since, callback) {
    const { mode, offset } = startOf(topic, since);
    const request = callback === undefined ? 0 : nextRequest();
    if (callback !== undefined) {
      this.pending ??= new Map();
      this.pending.set(request, { topic, callback });
    }
    subscribe(this.ws, topic, request, mode, offset);
  }

  /** @param {string} name */
  quit(name) {
    const topic = this.topics.all.get(name);
    return topic !== undefined && this.part(topic);
  }

  /** @param {AnyTopic} topic */
  part(topic) {
    if (!this.joined.delete(topic)) return false;
    this.isTold = false;
    topic.shared?.cancel(this);
    unsubscribe(this.ws, topic.number);
    if (--topic.size === 0) this.topics.emptied(topic);
    return true;
  }

  /** The connection is no longer open. */
  leave() {
    const { joined, pending, ws } = this;
    if (pending !== null) {
      this.pending = null;
      for (const { callback, topic } of pending.values()) {
        process.nextTick(callback, { recovered: false, position: topic.position, replayed: 0 });
      }
    }
    for (const call of this.late ?? []) call();
    for (const shared of this.pendingHistories?.keys() ?? []) shared.cancel(this);
    for (const [room, number] of this.present ?? []) room.part(number, true);
    this.present = null;
    if (joined.size === 0) return;
    this.joined = new Set();
    if ((ws._bits & GONE) === 0) unsubscribe(ws, 0);
    this.partAll(joined.values());
  }

  /** A connection can be in 100,000 topics: it leaves some per turn of the event loop. @param {IterableIterator<AnyTopic>} joined */
  partAll(joined) {
    let left = MAX_PARTED;
    for (let next = joined.next(); !next.done; next = joined.next()) {
      const topic = next.value;
      if (--topic.size === 0) this.topics.emptied(topic);
      if (--left === 0) return void setImmediate(() => this.partAll(joined));
    }
  }

  /** @type {import('../connection/state').Membership['lost']} */
  lost(topic, count) {
    this.ws._owner?._counts.lost(topic.name, count);
    this.ws.emit('dropped', topic.name, count);
  }

  /** The history no longer had messages that the connection lacked. @type {import('../connection/state').Membership['passed']} */
  passed(topic, from, to) {
    const { epoch, name } = topic;
    const last = epoch === null ? null : { epoch, offset: to };
    // From 0 on: the number of messages is unknown.
    this.ws.emit('gap', name, from === 0 || last === null ? null : { ...last, offset: from }, last);
  }

  /**
   * The reactor has made it a member.
   *
   * @type {(request: number, recovered: boolean, replayed: number, offset: number) => void}
   */
  answered(request, recovered, replayed, offset) {
    const waiting = this.pending?.get(request);
    if (waiting === undefined) return;
    this.pending?.delete(request);
    // The next send() counts the waiting bytes.
    if (replayed !== 0 && this.ws._extra !== null) this.ws._extra.roomUntil = 0;
    const { callback, topic } = waiting;
    const position = topic.epoch === null ? null : { epoch: topic.epoch, offset };
    const result = { recovered, position, replayed };
    const { clusterNode } = this.topics;
    if (clusterNode === null || clusterNode.isActive(topic)) return callback(result);
    const call = clusterNode.whenActive(topic, () => {
      this.late?.delete(call);
      callback(result);
    });
    this.late = (this.late ?? new Set()).add(call);
  }
}

/** @param {WebSocket} ws */
function isOpen(ws) {
  return ws._readyState === OPEN && (ws._bits & GONE) === 0;
}

/** @param {WebSocket} ws */
function subscriptionsOf(ws) {
  const extra = ws._ensureExtra();
  if (extra.topics === null) {
    extra.topics = new Subscriptions(ws);
    extra.roomUntil = 0;
  }
  return /** @type {Subscriptions} */ (extra.topics);
}

module.exports = { isOpen, subscriptionsOf };

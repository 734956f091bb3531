'use strict';

const { GONE, STREAM } = require('../bits');
const { OPEN } = require('../constants');
const { FROM, subscribe, unsubscribe } = require('./records');
const { replay } = require('./replay');
const { nextRequest } = require('./requests');
const { StreamMember } = require('./stream-member');
const { topicsOf } = require('./server-topics');
const { SLOW } = require('./settings');

/** @import { Server, WebSocket } from '../connection/state' */
/** @import { Position, Subscribed, TopicLosses } from '../../types/topics' */
/** @import { Topics } from './server-topics' */
/** @import { AnyMember } from './stream-member' */
/** @import { AnyTopic } from './topic' */

/** @typedef {(result: Subscribed) => void} SubscribedCallback */

/** @typedef {Subscriptions} AnySubscriptions */

/** The most topics that a connection leaves in one turn when it ends. */
const MOST_PARTED = 4096;

/** The most topics whose losses are counted, unless the connection is in more. */
const MOST_LOSSES = 1024;

/** The topics of a connection. */
class Subscriptions {
  /** @param {WebSocket} ws A connection of a server */
  constructor(ws) {
    this.ws = ws;
    /** @type {Set<AnyTopic>} */
    this.joined = new Set();
    /**
     * Callbacks that wait for an answer, by the number of the request.
     *
     * @type {Map<number, { topic: AnyTopic, callback: SubscribedCallback }> | null}
     */
    this.pending = null;
    /** Members of topics that have been slow, over a stream. @type {Set<AnyMember> | null} */
    this.behind = null;
    /** Losses by the name of the topic. @type {Map<string, TopicLosses> | null} */
    this.losses = null;
  }

  /**
   * @param {string} name Name of the topic
   * @param {Position | 'oldest' | undefined} since The position to begin at
   * @param {SubscribedCallback | undefined} callback Called when the connection is a member, or
   *   never will be
   * @returns {boolean} False: `topicOptions` has closed the connection
   */
  join(name, since, callback) {
    const { ws } = this;
    const topics = topicsOf(/** @type {Server} */ (ws._owner));
    const settings = topics.all.get(name)?.settings ?? topics.settings(name);
    if (!isOpen(ws)) return false;
    this.enter(topics, topics.create(name, settings, (ws._bits & STREAM) === 0), since, callback);
    return true;
  }

  /**
   * @param {Topics} topics The topics of the server
   * @param {AnyTopic} topic One of them
   * @param {Position | 'oldest' | undefined} since The position to begin at
   * @param {SubscribedCallback | undefined} callback Called when the connection is a member, or
   *   never will be
   */
  enter(topics, topic, since, callback) {
    const isNew = !this.joined.has(topic);
    const { mode, offset } = startOf(topic, since);
    if ((this.ws._bits & STREAM) !== 0) {
      this.joinAsStream(topic, mode, offset, callback);
    } else {
      topics.register(topic);
      this.joinOnReactor(topic, isNew, mode, offset, callback);
    }
    if (!isNew) return;
    this.joined.add(topic);
    if (topic.size === 1) topics.woke(topic);
  }

  /**
   * @param {AnyTopic} topic The topic
   * @param {boolean} isNew Whether it was not a member before
   * @param {number} mode One of FROM
   * @param {number} offset Where it begins, in the history
   * @param {SubscribedCallback | undefined} callback Called when the connection is a member, or
   *   never will be
   */
  joinOnReactor(topic, isNew, mode, offset, callback) {
    if (isNew) topic.members++;
    const request = callback === undefined ? 0 : nextRequest();
    if (callback !== undefined) {
      this.pending ??= new Map();
      this.pending.set(request, { topic, callback });
    }
    subscribe(this.ws, topic, request, mode, offset);
  }

  /**
   * @param {AnyTopic} topic The topic
   * @param {number} mode One of FROM
   * @param {number} offset Where it begins, in the history
   * @param {SubscribedCallback | undefined} callback Called when the connection is a member, or
   *   never will be
   */
  joinAsStream(topic, mode, offset, callback) {
    topic.streams ??= new Map();
    const isCatchingUp = mode !== FROM.NOW && topic.settings.slow === SLOW['catch-up'];
    let member = topic.streams.get(this.ws);
    // An answer that is on its way is for the member before it.
    if (member === undefined || isCatchingUp) topic.streams.set(this.ws, (member = new StreamMember(this.ws, topic)));
    if (isCatchingUp) member.await(offset);
    this.replay(topic, mode, offset, callback, isCatchingUp ? member : null);
  }

  /**
   * @param {AnyTopic} topic The topic
   * @param {number} mode One of FROM
   * @param {number} offset Where it begins, in the history
   * @param {SubscribedCallback | undefined} callback Called when the connection is a member, or
   *   never will be
   * @param {Pick<AnyMember, 'start'> | null} member See `replay` of replay.js
   */
  replay(topic, mode, offset, callback, member) {
    const position = positionOf(topic);
    if (mode !== FROM.NOW) {
      replay(this.ws, topic, mode, offset, (recovered, replayed) => callback?.({ recovered, position, replayed }), member);
    } else if (callback !== undefined) {
      process.nextTick(callback, { recovered: false, position, replayed: 0 });
    }
  }

  /**
   * @param {string} name Name of the topic
   * @returns {boolean} Whether it was a member
   */
  quit(name) {
    const topics = topicsOf(/** @type {Server} */ (this.ws._owner));
    const topic = topics.all.get(name);
    if (topic === undefined || !this.joined.delete(topic)) return false;
    if ((this.ws._bits & STREAM) === 0) unsubscribe(this.ws, topic.number);
    else topic.streams?.get(this.ws)?.quit();
    this.part(topic);
    if (topic.size === 0) topics.emptied(topic);
    return true;
  }

  /** @param {AnyTopic} topic A topic that it was a member of */
  part(topic) {
    if ((this.ws._bits & STREAM) === 0) topic.members--;
    else topic.streams?.delete(this.ws);
  }

  /** The connection is no longer open. */
  leave() {
    const { joined, pending, ws } = this;
    if (pending !== null) {
      this.pending = null;
      for (const { callback, topic } of pending.values()) process.nextTick(callback, nothing(topic));
    }
    if (joined.size === 0) return;
    this.joined = new Set();
    if ((ws._bits & (GONE | STREAM)) === 0) unsubscribe(ws, 0);
    this.partAll(joined.values());
  }

  /**
   * A connection may be in a hundred thousand topics: it is taken out of some in each turn of the
   * event loop.
   *
   * @param {IterableIterator<AnyTopic>} joined Topics that it was a member of
   */
  partAll(joined) {
    const { ws } = this;
    const topics = topicsOf(/** @type {Server} */ (ws._owner));
    // What is published goes to streams from here.
    let left = (ws._bits & STREAM) === 0 ? MOST_PARTED : Infinity;
    for (let next = joined.next(); !next.done; next = joined.next()) {
      const topic = next.value;
      this.part(topic);
      if (topic.size === 0) topics.emptied(topic);
      if (--left === 0) return void setImmediate(() => this.partAll(joined));
    }
  }

  /** @param {AnyMember} member A member of a topic that waits for `drained` */
  wait(member) {
    this.behind ??= new Set();
    this.behind.add(member);
  }

  /** The bytes that waited for its stream have left, or have been compressed. */
  drained() {
    const { behind } = this;
    if (behind === null) return;
    this.behind = null;
    for (const member of behind) {
      if (member.isBehind()) member.drained();
      if (member.isBehind()) this.wait(member);
    }
  }

  /**
   * @param {AnyTopic} topic The topic
   * @param {number} count Messages that it did not get
   */
  lost(topic, count) {
    topic.dropped += count;
    this.ws._owner?._counts.lost(topic.name, count);
    this.lossOf(topic.name).dropped += count;
    this.ws.emit('dropped', topic.name, count);
  }

  /**
   * The history no longer had the messages that it lacked.
   *
   * @param {AnyTopic} topic The topic
   * @param {number} from Offset of the first message
   * @param {number} to Offset of the last one
   */
  passed(topic, from, to) {
    const { name, ring } = topic;
    if (ring === null) return;
    const { epoch } = ring;
    topic.missed += to - from + 1;
    this.lossOf(name).missed += to - from + 1;
    this.ws.emit('gap', name, { epoch, offset: from }, { epoch, offset: to });
  }

  /**
   * @param {string} name Name of a topic
   * @returns {TopicLosses} Counts of its messages that the connection did not get, to be increased
   */
  lossOf(name) {
    this.losses ??= new Map();
    let loss = this.losses.get(name);
    if (loss === undefined) {
      if (this.losses.size >= Math.max(this.joined.size, MOST_LOSSES)) this.losses.delete(this.losses.keys().next().value ?? '');
      this.losses.set(name, (loss = { dropped: 0, missed: 0 }));
    }
    return loss;
  }

  /**
   * The reactor has made it a member.
   *
   * @param {number} request Number of the request that is answered
   * @param {boolean} recovered Whether nothing is missing
   * @param {number} replayed How many messages it has got
   * @param {number} offset Offset of the last message
   */
  answered(request, recovered, replayed, offset) {
    const waiting = this.pending?.get(request);
    if (waiting === undefined) return;
    this.pending?.delete(request);
    const { callback, topic } = waiting;
    const position = topic.ring === null ? null : { epoch: topic.ring.epoch, offset };
    callback({ recovered, position, replayed });
  }
}

/**
 * @param {WebSocket} ws A connection
 * @returns {boolean} Whether it can be a member
 */
function isOpen(ws) {
  return ws._readyState === OPEN && (ws._bits & GONE) === 0;
}

/**
 * @param {AnyTopic} topic The topic
 * @param {Position | 'oldest' | undefined} since The position to begin at; undefined: not in the
 * past
 * @returns {{ mode: number, offset: number }} One of FROM, and an offset
 */
function startOf({ ring }, since) {
  if (ring === null || since === undefined) return { mode: FROM.NOW, offset: 0 };
  if (typeof since === 'string') return { mode: FROM.OLDEST, offset: 0 };
  const isOurs = since.epoch === ring.epoch && since.offset <= ring.offset;
  return isOurs ? { mode: FROM.OFFSET, offset: since.offset } : { mode: FROM.NOW, offset: 0 };
}

/**
 * @param {AnyTopic} topic The topic
 * @returns {Position | null} The position of its last message
 */
function positionOf({ ring }) {
  return ring === null ? null : ring.position();
}

/**
 * @param {AnyTopic} topic The topic
 * @returns {Subscribed} The result for a connection that is not a member
 */
function nothing(topic) {
  return { recovered: false, position: positionOf(topic), replayed: 0 };
}

/**
 * @param {WebSocket} ws A connection
 * @returns {Subscriptions} Its subscriptions, made on first use
 */
function subscriptionsOf(ws) {
  const extra = ws._ensureExtra();
  if (extra.topics === null) {
    extra.topics = new Subscriptions(ws);
    extra.roomUntil = 0;
  }
  return /** @type {Subscriptions} */ (extra.topics);
}

module.exports = { isOpen, positionOf, startOf, subscriptionsOf };

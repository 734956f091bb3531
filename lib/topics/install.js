'use strict';

// The members that topics add to a WebSocket and to a server.

const { TERMINATED } = require('../bits');
const { inContext } = require('../async-context');
const { CONNECTING, READY_STATES } = require('../constants');
const { peek } = require('../reactor/dispatch');
const {
  DROPPED_COUNT,
  DROPPED_TOPIC,
  GAP_FROM,
  GAP_TO,
  GAP_TOPIC,
  IN_DROPPED,
  IN_GAP,
  IN_SUBSCRIBED,
  KIND_MASK,
  SUBSCRIBED_OFFSET,
  SUBSCRIBED_RECOVERED,
  SUBSCRIBED_REPLAYED,
  SUBSCRIBED_REQUEST,
} = require('../reactor/layout');
const { checkCallback, checkOptions, checkTopic, sinceOf } = require('./arguments');
const { broadcast } = require('./broadcast');
const { history } = require('./history');
const { publish } = require('./publish');
const { longOf, wordOf } = require('./records');
const { isOpen, subscriptionsOf } = require('./subscriptions');
const { reportingTopic } = require('./topic');

/** @import { Server, WebSocket } from '../connection/state' */
/**
 * @import { BroadcastOptions, HistoryOptions, Published, PublishOptions } from '../../types/topics'
 */
/** @import { Receipt, Subscribed, SubscribeOptions, TopicLosses } from '../../types/topics' */

/** @typedef {(result: Subscribed) => void} OnSubscribed */
/**
 * @typedef {(topic: string, options?: SubscribeOptions | OnSubscribed | null, callback?:
 *   OnSubscribed) => boolean} Subscribe
 */
/**
 * @typedef {(topic: string, data: Published, options?: PublishOptions | null) => number |
 *   Promise<Receipt>} Publish
 */

/** Counts of a topic that does not exist. */
const NO_COUNTS = { size: 0, published: 0, dropped: 0, missed: 0 };

/**
 * The members that `install` adds to a WebSocket.
 *
 * @typedef {object} Fields
 * @property {Subscribe} subscribe
 * @property {(topic: string) => boolean} unsubscribe
 * @property {(topic: string) => boolean} isSubscribed
 * @property {string[]} subscriptions
 * @property {(topic: string) => TopicLosses} topicCounts
 * @property {Publish} publish
 */

/**
 * Methods of a WebSocket.
 *
 * @type {Fields & ThisType<WebSocket>}
 */
const ofConnection = {
  /**
   * @this {WebSocket}
   * @param {string} topic Name of the topic
   * @param {SubscribeOptions | OnSubscribed | null} [options] `since`: the position of the last
   *   message that the connection has
   * @param {OnSubscribed} [callback] Called when the connection is a member, or never will be
   * @returns {boolean} Whether it is a member
   */
  subscribe(topic, options, callback) {
    if (typeof options === 'function') {
      callback = options;
      options = undefined;
    }
    checkTopic(topic);
    checkOptions(options, ['since']);
    checkCallback(callback);
    const since = sinceOf(options);
    ownerOf(this);
    if (this._readyState === CONNECTING) {
      throw new Error(`WebSocket is not open: readyState ${CONNECTING} (${READY_STATES[CONNECTING]})`);
    }
    if (isOpen(this) && subscriptionsOf(this).join(topic, since, callback ?? undefined)) return true;
    if (callback) process.nextTick(callback, { recovered: false, position: null, replayed: 0 });
    return false;
  },

  /**
   * @this {WebSocket}
   * @param {string} topic Name of the topic
   * @returns {boolean} Whether it was a member
   */
  unsubscribe(topic) {
    checkTopic(topic);
    return this._extra?.topics ? subscriptionsOf(this).quit(topic) : false;
  },

  /**
   * @this {WebSocket}
   * @param {string} topic Name of the topic
   * @returns {boolean} Whether it is a member
   */
  isSubscribed(topic) {
    checkTopic(topic);
    if (!this._extra?.topics) return false;
    const known = ownerOf(this)._topics?.all.get(topic);
    return known !== undefined && subscriptionsOf(this).joined.has(known);
  },

  /**
   * @this {WebSocket}
   * @param {string} topic Name of the topic
   * @returns {TopicLosses} The counts of its messages that the connection did not get
   */
  topicCounts(topic) {
    checkTopic(topic);
    const known = this._extra?.topics ? subscriptionsOf(this).losses?.get(topic) : undefined;
    return { dropped: known?.dropped ?? 0, missed: known?.missed ?? 0 };
  },

  get subscriptions() {
    if (!this._extra?.topics) return [];
    const everyone = ownerOf(this)._topics?.everyone;
    return [...subscriptionsOf(this).joined].filter((topic) => topic !== everyone).map(({ name }) => name);
  },

  // Programs give their connections fields of that name.
  set subscriptions(value) {
    Object.defineProperty(this, 'subscriptions', { configurable: true, enumerable: true, value, writable: true });
  },

  /**
   * @this {WebSocket}
   * @param {string} topic Name of the topic
   * @param {Published} data See `send()`
   * @param {PublishOptions | null} [options] See `publish` of publish.js
   * @returns {number | Promise<Receipt>} The number of connections that the message goes to; with
   * `receipt: true`, its receipt
   */
  publish(topic, data, options) {
    return publish(ownerOf(this), topic, data, options, this);
  },
};

/**
 * Methods of a server.
 *
 * @type {ThisType<Server>}
 */
const ofServer = {
  /**
   * @this {Server}
   * @param {string} topic Name of the topic
   * @param {Published} data See `send()`
   * @param {PublishOptions | null} [options] See `publish` of publish.js
   */
  publish(topic, data, options) {
    return publish(this, topic, data, options, null);
  },

  /**
   * @this {Server}
   * @param {Published} data See `send()`
   * @param {BroadcastOptions | null} [options] See `broadcast` of broadcast.js
   */
  broadcast(data, options) {
    return broadcast(this, data, options);
  },

  /**
   * @this {Server}
   * @param {string} topic Name of the topic
   */
  subscriberCount(topic) {
    checkTopic(topic);
    return this._topics?.all.get(topic)?.size ?? 0;
  },

  /**
   * @this {Server}
   * @param {string} topic Name of the topic
   */
  topicCounts(topic) {
    checkTopic(topic);
    const { size, published, dropped, missed } = this._topics?.all.get(topic) ?? NO_COUNTS;
    return { subscribers: size, published, dropped, missed };
  },

  /** @this {Server} */
  *topics() {
    if (this._topics === null) return;
    for (const [name, topic] of this._topics.all) yield [name, topic.size];
  },

  /**
   * @this {Server}
   * @param {string} topic Name of the topic
   * @param {HistoryOptions | null} [options] `since` and `limit`
   */
  history(topic, options) {
    return history(this, topic, options);
  },
};

/**
 * @param {WebSocket} ws A connection of a server
 * @returns {Server} Its server
 * @throws {TypeError} For a connection without a server
 */
function ownerOf(ws) {
  const owner = ws._owner;
  if (owner === null) throw new TypeError('Only connections of a WebSocketServer have topics');
  return owner;
}

/**
 * A record about topics came for a connection.
 *
 * @param {WebSocket} ws The connection of the record
 * @param {number} tag kind | flags | aux of the record
 * @param {number} offset Where the payload is, relative to the batch
 * @param {number} length Bytes of the payload
 */
function record(ws, tag, offset, length) {
  if ((ws._bits & TERMINATED) === 0) inContext(ws, onRecord, tag & KIND_MASK, peek(tag, offset, length));
}

/**
 * @param {WebSocket} ws The connection of the record
 * @param {number} kind Kind of the record
 * @param {Buffer} bytes Its payload, which is read before any handler runs
 */
function onRecord(ws, kind, bytes) {
  if (kind === IN_SUBSCRIBED) {
    const isRecovered = wordOf(bytes, SUBSCRIBED_RECOVERED) !== 0;
    const replayed = wordOf(bytes, SUBSCRIBED_REPLAYED);
    const request = wordOf(bytes, SUBSCRIBED_REQUEST);
    subscriptionsOf(ws).answered(request, isRecovered, replayed, longOf(bytes, SUBSCRIBED_OFFSET));
  } else if (kind === IN_DROPPED) {
    const topic = reportingTopic(wordOf(bytes, DROPPED_TOPIC));
    if (topic !== undefined) subscriptionsOf(ws).lost(topic, wordOf(bytes, DROPPED_COUNT));
  } else if (kind === IN_GAP) {
    const topic = reportingTopic(wordOf(bytes, GAP_TOPIC));
    if (topic !== undefined) subscriptionsOf(ws).passed(topic, longOf(bytes, GAP_FROM), longOf(bytes, GAP_TO));
  }
}

/**
 * @param {object} prototype Prototype of a class
 * @param {object} methods Methods that it gets
 */
function define(prototype, methods) {
  const descriptors = Object.getOwnPropertyDescriptors(methods);
  for (const descriptor of Object.values(descriptors)) descriptor.enumerable = false;
  Object.defineProperties(prototype, descriptors);
}

/** @param {object} prototype Prototype of WebSocket */
function install(prototype) {
  define(prototype, ofConnection);
}

/** @param {object} prototype Prototype of WebSocketServer */
function installServer(prototype) {
  define(prototype, ofServer);
}

module.exports = { install, installServer, record };

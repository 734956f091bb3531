'use strict';

// Members that topics add to a WebSocket and a server.

const { TERMINATED } = require('./base/bits');
const { checkOptions, checkValue } = require('./base/checks');
const { CONNECTING, READY_STATES } = require('./base/constants');
const { peek } = require('./reactor/batch');
const {
  DROPPED_COUNT,
  DROPPED_TOPIC,
  GAP_FROM,
  GAP_TO,
  GAP_TOPIC,
  IN_GAP,
  IN_SUBSCRIBED,
  KIND_MASK,
  SUBSCRIBED_OFFSET,
  SUBSCRIBED_RECOVERED,
  SUBSCRIBED_REPLAYED,
  SUBSCRIBED_REQUEST,
} = require('./base/layout');
const { checkTopic, sinceOf } = require('./topics/arguments');
const { history } = require('./topics/history');
const { Presence, enter, leave } = require('./presence/presence');
const { topicsProtocol } = require('./protocol/server');
const { broadcast, publish } = require('./topics/publish');
const { longOf, reportingTopic, wordOf } = require('./topics/records');
const { isOpen, subscriptionsOf } = require('./topics/subscriptions');

/** @import { Server, WebSocket } from './connection/state' */
/** @import * as Public from '..' */
/** @import { Published, PublishOptions, Receipt, Subscribed, SubscribeOptions } from '../types/topics' */

/** @typedef {(result: Subscribed) => void} OnSubscribed */

/**
 * The public types of the next two have overloads.
 *
 * @typedef {{ publish(topic: string, data: Published, options?: PublishOptions | null): number | Promise<Receipt> }} Publishing
 */

/** @typedef {{ subscribe(topic: string, options?: SubscribeOptions | OnSubscribed | null, callback?: OnSubscribed): boolean }} Subscribing */

/**
 * Members that `install` adds to a WebSocket.
 *
 * @typedef {Publishing & Subscribing & Pick<Public.WebSocket, 'enter' | 'isSubscribed' | 'leave' | 'subscriptions' | 'unsubscribe'>} Fields
 */

/** @type {Fields & ThisType<WebSocket>} */
const ofConnection = {
  subscribe(topic, options, callback) {
    if (typeof options === 'function') {
      callback = options;
      options = undefined;
    }
    checkTopic(topic);
    checkOptions(options, ['since']);
    if (callback !== undefined && callback !== null) checkValue({ type: 'function' }, callback, 'callback');
    const since = sinceOf(options);
    ownerOf(this);
    if (this._readyState === CONNECTING) {
      throw new Error(`WebSocket is not open: readyState ${CONNECTING} (${READY_STATES[CONNECTING]})`);
    }
    if (isOpen(this) && subscriptionsOf(this).join(topic, since, callback ?? undefined)) return true;
    if (callback) process.nextTick(callback, { recovered: false, position: null, replayed: 0 });
    return false;
  },

  unsubscribe(topic) {
    checkTopic(topic);
    return this._extra?.topics ? subscriptionsOf(this).quit(topic) : false;
  },

  /** @type {(this: WebSocket, topic: string) => boolean} */
  isSubscribed(topic) {
    checkTopic(topic);
    if (!this._extra?.topics) return false;
    const known = ownerOf(this)._topics?.all.get(topic);
    return known !== undefined && subscriptionsOf(this).joined.has(known);
  },

  get subscriptions() {
    if (!this._extra?.topics) return [];
    return [...subscriptionsOf(this).joined].filter(({ onEmptied }) => onEmptied === null).map(({ name }) => name);
  },

  // Programs give connections a field of this name.
  set subscriptions(value) {
    Object.defineProperty(this, 'subscriptions', { configurable: true, enumerable: true, value, writable: true });
  },

  publish(topic, data, options) {
    return publish(ownerOf(this), topic, data, options, this);
  },

  enter(topic, options) {
    checkTopic(topic);
    return enter(this, ownerOf(this), topic, options);
  },

  leave(topic) {
    checkTopic(topic);
    return leave(this, ownerOf(this), topic);
  },
};

/** @type {Publishing & Pick<Public.WebSocketServer, 'broadcast' | 'subscriberCount' | 'topics' | 'topicsProtocol' | 'history' | 'presence'> & ThisType<Server>} */
const ofServer = {
  publish(topic, data, options) {
    return publish(this, topic, data, options, null);
  },

  broadcast(data, options) {
    return broadcast(this, data, options);
  },

  subscriberCount(topic) {
    checkTopic(topic);
    return this._topics?.all.get(topic)?.size ?? 0;
  },

  /** @this {Server} */
  *topics() {
    if (this._topics === null) return;
    for (const [name, topic] of this._topics.all) yield [name, topic.size];
  },

  history(topic, options) {
    return history(this, topic, options);
  },

  topicsProtocol(options) {
    topicsProtocol(this, options);
  },

  presence(topic) {
    checkTopic(topic);
    return /** @type {any} */ (new Presence(this, topic));
  },
};

/** @param {WebSocket} ws */
function ownerOf(ws) {
  const owner = ws._owner;
  if (owner === null) throw new TypeError('Only connections of a WebSocketServer have topics');
  return owner;
}

/** @type {import('./connection/receive').TakeRecord} */
function onRecord(ws, tag, offset, length) {
  if ((ws._bits & TERMINATED) !== 0) return;
  const kind = tag & KIND_MASK;
  // Read before any handler runs.
  const bytes = peek(tag, offset, length);
  const subscriptions = subscriptionsOf(ws);
  if (kind === IN_SUBSCRIBED) {
    const isRecovered = wordOf(bytes, SUBSCRIBED_RECOVERED) !== 0;
    const replayed = wordOf(bytes, SUBSCRIBED_REPLAYED);
    const request = wordOf(bytes, SUBSCRIBED_REQUEST);
    subscriptions.answered(request, isRecovered, replayed, longOf(bytes, SUBSCRIBED_OFFSET));
    return;
  }
  const topic = reportingTopic(wordOf(bytes, kind === IN_GAP ? GAP_TOPIC : DROPPED_TOPIC));
  if (topic === undefined) return;
  if (kind === IN_GAP) subscriptions.passed(topic, longOf(bytes, GAP_FROM), longOf(bytes, GAP_TO));
  else subscriptions.lost(topic, wordOf(bytes, DROPPED_COUNT));
}

/** @type {(prototype: object, methods: object) => void} */
function define(prototype, methods) {
  const descriptors = Object.getOwnPropertyDescriptors(methods);
  for (const descriptor of Object.values(descriptors)) descriptor.enumerable = false;
  Object.defineProperties(prototype, descriptors);
}

module.exports = {
  install: (/** @type {object} */ prototype) => define(prototype, ofConnection),
  installServer: (/** @type {object} */ prototype) => define(prototype, ofServer),
  onRecord,
};

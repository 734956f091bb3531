'use strict';

const { STREAM } = require('../bits');
const { frameBytes } = require('../reactor/layout');
const { state } = require('../reactor/table');
const { lengthOf } = require('../views');
const { checkOptions, checkTopic, wrong } = require('./arguments');
const { messageOf, stamped } = require('./message');
const records = require('./records');
const { askReceipt } = require('./requests');
const { topicsOf } = require('./server-topics');
const { SLOW } = require('./settings');
const { OUTCOME } = require('./stream-member');
const { subscriptionsOf } = require('./subscriptions');

/** @import { SentCallback, Server, WebSocket } from '../connection/state' */
/** @import { Published, PublishOptions, Receipt } from '../../types/topics' */
/** @import { Message } from './message' */
/** @import { AnyMember } from './stream-member' */
/** @import { AnyTopic } from './topic' */

/** Names of options: those of `send()` are taken by both methods. */
const BROADCAST = ['binary', 'compress', 'fin', 'mask', 'except'];
const PUBLISH = [...BROADCAST, 'key', 'receipt'];

/** No connection is excepted. @type {Set<WebSocket>} */
const NO_CONNECTION = new Set();

/**
 * Sends a message to all subscribers of a topic.
 *
 * @param {Server} server The server of the topic
 * @param {string} name Name of the topic, not checked yet
 * @param {Published} data See `messageOf`
 * @param {PublishOptions | null | undefined} options `except`, `key` and `receipt`, and those of
 *   `messageOf`
 * @param {WebSocket | null} publisher A connection that does not get it
 * @returns {number | Promise<Receipt>} The number of connections that the message goes to; with
 * `receipt: true`, its receipt
 * @throws {TypeError | RangeError}
 */
function publish(server, name, data, options, publisher) {
  checkTopic(name);
  const target = targetOf(options, publisher);
  const message = messageOf(data, options);
  const topic = topicsOf(server).forPublish(name);
  if (topic === undefined) return target.receipt ? Promise.resolve(emptyReceipt()) : 0;
  return publishTo(topic, message, target);
}

/**
 * @param {AnyTopic} topic The topic
 * @param {Message} given The message, without a stamp
 * @param {ReturnType<typeof targetOf>} target The recipients, and how they are named
 * @returns {number | Promise<Receipt>} As for `publish`
 * @throws {TypeError} For data that is not text in a topic with a stamp
 */
function publishTo(topic, given, target) {
  const { ring } = topic;
  const offset = ring === null ? 0 : ring.offset + 1;
  const message = ring !== null && ring.stamp !== null ? stamped(given, ring.stamp, offset) : given;
  const excepted = membersAmong(topic, target.except);
  const matched = topic.size - excepted.length;
  const receipt = target.receipt ? new Tally() : null;
  toReactors(topic, message, excepted, target.key, receipt);
  topic.published++;
  if (ring !== null) {
    ring.offset = offset;
    ring.publishedAt = Date.now();
  }
  const position = ring === null ? null : ring.position();
  if (topic.streams !== null && topic.streams.size !== 0) {
    const members = [...topic.streams];
    inTurn(() => toStreams(members, message, offset, excepted, target.key, receipt));
  }
  return receipt === null ? matched : receipt.settle(matched, position);
}

/** Messages for streams: the one under way, and those behind it. @type {Array<() => void>} */
const turns = [];

/**
 * Writing to a stream may run handlers, which may publish: that message comes after this one.
 *
 * @param {() => void} give Gives a message to streams
 */
function inTurn(give) {
  if (turns.push(give) !== 1) return;
  try {
    for (const next of turns) next();
  } finally {
    turns.length = 0;
  }
}

/**
 * The connections that a message is not for, the key by which it replaces an earlier one, and
 * whether it has a receipt.
 *
 * @param {PublishOptions | null | undefined} options `except`, `key` and `receipt`
 * @param {WebSocket | null} publisher The connection that publishes; null: the server does
 * @param {string[]} [known] Names of the options that there are
 * @returns {{ except: Set<WebSocket>, key: string, receipt: boolean }} Connections that do not get
 *   it; '' for no key; whether a receipt is wanted
 * @throws {TypeError}
 */
function targetOf(options, publisher, known = PUBLISH) {
  checkOptions(options, known);
  const { except, key = '', receipt = false } = options ?? {};
  if (typeof key !== 'string') throw wrong(TypeError, 'options.key', 'a string', key);
  if (typeof receipt !== 'boolean') throw wrong(TypeError, 'options.receipt', 'a boolean', receipt);
  const excepted = exceptOf(except);
  if (publisher === null) return { except: excepted, key, receipt };
  return { except: excepted === NO_CONNECTION ? new Set([publisher]) : new Set([publisher, ...excepted]), key, receipt };
}

/**
 * @param {unknown} except A WebSocket, or several: not checked yet
 * @returns {Set<WebSocket>} Connections that do not get it
 * @throws {TypeError}
 */
function exceptOf(except) {
  if (except === undefined || except === null) return NO_CONNECTION;
  if (isWebSocket(except)) return new Set([except]);
  const several = /** @type {Iterable<unknown>} */ (except);
  if (typeof except !== 'object' || typeof several[Symbol.iterator] !== 'function') {
    throw wrong(TypeError, 'options.except', 'a WebSocket, or a Set or an array of them', except);
  }
  const set = new Set(several);
  for (const one of set) {
    if (!isWebSocket(one)) throw wrong(TypeError, 'options.except', 'of WebSockets only', one);
  }
  return /** @type {Set<WebSocket>} */ (set);
}

/**
 * @param {unknown} value A value of any type
 * @returns {value is WebSocket} Whether it has a method of our WebSockets
 */
function isWebSocket(value) {
  return typeof value === 'object' && value !== null && typeof (/** @type {Partial<WebSocket>} */ (value)._ensureExtra) === 'function';
}

/**
 * @param {AnyTopic} topic The topic
 * @param {Set<WebSocket>} connections Connections, members or not
 * @returns {WebSocket[]} Those that have subscribed
 */
function membersAmong(topic, connections) {
  if (connections === NO_CONNECTION) return [];
  return [...connections].filter((ws) => ws._extra?.topics && subscriptionsOf(ws).joined.has(topic));
}

/**
 * @param {AnyTopic} topic The topic
 * @param {Message} message The message
 * @param {WebSocket[]} excepted Members that do not get it
 * @param {string} key The message replaces an earlier one of the same key; '' for none
 * @param {Tally | null} receipt Counts the outcomes; null without a receipt
 */
function toReactors(topic, message, excepted, key, receipt) {
  if (topic.number === 0 || (topic.members === 0 && topic.ring === null) || state.failure !== null) return;
  const others = excepted.length === 0 ? excepted : excepted.filter((ws) => (ws._bits & STREAM) === 0);
  const used = topic.settings.slow === SLOW.latest ? key : '';
  const isSpecial = receipt !== null || others.length !== 0 || used !== '';
  if (isSpecial) records.target(topic, receipt === null ? 0 : receipt.ask(), others, used);
  records.publish(topic, message);
}

/**
 * @param {Array<[WebSocket, AnyMember]>} members Members whose connections are streams
 * @param {Message} message The message
 * @param {number} offset 0 without history
 * @param {WebSocket[]} excepted Members that do not get it
 * @param {string} key The message replaces an earlier one of the same key; '' for none
 * @param {Tally | null} receipt Counts the outcomes; null without a receipt
 */
function toStreams(members, message, offset, excepted, key, receipt) {
  const { data, tag } = message;
  const isShared = typeof data === 'string' && members.length > 1;
  // The bytes of a string are a copy, to which nothing else refers.
  /** @type {Message} */
  const bytes = isShared ? { tag, data: Buffer.from(data), prepared: null } : message;
  if (isShared) bytes.owned = bytes;
  const size = receipt === null ? 0 : sizeOf(message);
  const others = new Set(excepted);
  for (const [ws, member] of members) {
    if (others.has(ws)) member.skip(offset);
    else if (receipt === null) member.publish(bytes, offset, key);
    else receipt.count(member.publish(bytes, offset, key, receipt.written()), size);
  }
}

/**
 * @param {Message} message The message
 * @returns {number} Bytes of its frame
 */
function sizeOf({ data }) {
  return frameBytes(typeof data === 'string' ? Buffer.byteLength(data) : lengthOf.call(data));
}

/** @returns {Receipt} The receipt of a message without subscribers */
function emptyReceipt() {
  return { matched: 0, sent: 0, queued: 0, dropped: 0, bytes: 0, position: null };
}

/** The outcomes of one message, on the reactors and on streams. */
class Tally {
  constructor() {
    this.sum = emptyReceipt();
    /** Messages given to streams; of these, how many were written, and how many failed. */
    this.posted = 0;
    this.done = 0;
    this.failed = 0;
    /** Bytes of its frame. */
    this.size = 0;
    /** @type {Promise<Omit<Receipt, 'position'>> | null} */
    this.reactors = null;
  }

  /** @returns {number} The number by which the reactors know it */
  ask() {
    let request = 0;
    this.reactors = new Promise((resolve, reject) => {
      request = askReceipt((sum) => (sum === null ? reject(new Error('The reactor failed')) : resolve(sum)));
    });
    return request;
  }

  /** @returns {SentCallback} A callback for a message that a stream is given */
  written() {
    return (error) => {
      if (error) this.failed++;
      else this.done++;
    };
  }

  /**
   * @param {number} outcome One of OUTCOME
   * @param {number} size Bytes of the frame
   */
  count(outcome, size) {
    const { sum } = this;
    this.size = size;
    sum.matched++;
    if (outcome === OUTCOME.DROPPED) sum.dropped++;
    else sum.bytes += size;
    if (outcome === OUTCOME.KEPT) sum.queued++;
    if (outcome === OUTCOME.POSTED) this.posted++;
  }

  /**
   * @param {number} matched The number of connections that the message is for
   * @param {Receipt['position']} position The position of the message in the history; null without
   * one
   * @returns {Promise<Receipt>} The receipt, when all outcomes are known
   */
  async settle(matched, position) {
    const { reactors, sum } = this;
    // Its turn with the streams comes when the call under way returns.
    if (turns.length !== 0) await null;
    if (this.posted !== 0) await new Promise(setImmediate);
    sum.sent += this.done;
    sum.dropped += this.failed;
    sum.bytes -= this.failed * this.size;
    sum.queued += this.posted - this.done - this.failed;
    const other = reactors === null ? emptyReceipt() : await reactors;
    // The peers of other members have gone, and their connections do not know it yet.
    const gone = matched - sum.matched - other.matched;
    return {
      matched,
      sent: sum.sent + other.sent,
      queued: sum.queued + other.queued,
      dropped: sum.dropped + other.dropped + gone,
      bytes: sum.bytes + other.bytes,
      position,
    };
  }
}

module.exports = { BROADCAST, publish, publishTo, targetOf };

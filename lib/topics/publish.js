'use strict';

const { checkValue, wrongType } = require('../base/checks');
const { checkOptions, checkTopic } = require('./arguments');
const { messageOf, stamped } = require('./message');
const records = require('./records');
const { askReceipt } = require('./requests');
const { topicsOf } = require('./server-topics');
const { SLOW } = require('./settings');
const { subscriptionsOf } = require('./subscriptions');

/** @import { SentCallback, Server, WebSocket } from '../connection/state' */
/** @import { Published, PublishOptions, Receipt } from '../../types/topics' */
/** @import { Message } from './message' */
/** @import { AnyTopic } from './topic' */

/** Names of options: those of `send()` are taken by both methods. */
const BROADCAST = ['binary', 'compress', 'fin', 'mask', 'except'];
const PUBLISH = [...BROADCAST, 'key', 'receipt'];

/** The outcomes of a message that no reactor gets. */
const NOTHING = { matched: 0, sent: 0, queued: 0, dropped: 0, bytes: 0 };

/** @typedef {Omit<Receipt, 'position'>} Counts */
/** @typedef {{ except: Set<WebSocket>, key: string, receipt: boolean }} Target */

/** No connection is excepted. @type {Set<WebSocket>} */
const NO_CONNECTION = new Set();

/**
 * Sends a message to all subscribers of a topic. Returns the number of connections that the message goes to; with
 * `receipt: true`, its receipt.
 *
 * @type {(server: Server, name: string, data: Published, options: PublishOptions | null | undefined, publisher: WebSocket | null) => number | Promise<Receipt>}
 * @throws {TypeError | RangeError}
 */
function publish(server, name, data, options, publisher) {
  checkTopic(name);
  const target = targetOf(options, publisher);
  const message = messageOf(data, options);
  const topic = topicsOf(server).forPublish(name);
  if (topic === undefined) return target.receipt ? receiptOf(null, 0, null) : 0;
  return publishTo(topic, message, target);
}

/**
 * @type {(topic: AnyTopic, given: Message, target: Target) => number | Promise<Receipt>}
 * @throws {TypeError} For data that is not text in a topic with a stamp
 */
function publishTo(topic, given, target) {
  const { ring } = topic;
  const offset = ring === null ? 0 : ring.offset + 1;
  const message = ring !== null && ring.stamp !== null ? stamped(given, ring.stamp, offset) : given;
  const excepted = membersAmong(topic, target.except);
  const matched = topic.size - excepted.length;
  const sum = toReactors(topic, message, excepted, target);
  topic.published++;
  if (ring !== null) {
    ring.offset = offset;
    ring.publishedAt = Date.now();
  }
  return target.receipt ? receiptOf(sum, matched, ring === null ? null : ring.position()) : matched;
}

/**
 * The connections that a message is not for, the key by which it replaces an earlier one, and whether it has a
 * receipt.
 *
 * @type {(options: PublishOptions | null | undefined, publisher: WebSocket | null, known?: string[]) => Target}
 * @throws {TypeError}
 */
function targetOf(options, publisher, known = PUBLISH) {
  checkOptions(options, known);
  const { except, key = '', receipt = false } = options ?? {};
  checkValue({ type: 'string' }, key, 'options.key');
  checkValue({ type: 'boolean' }, receipt, 'options.receipt');
  const excepted = exceptOf(except);
  if (publisher === null) return { except: excepted, key, receipt };
  return { except: excepted === NO_CONNECTION ? new Set([publisher]) : new Set([publisher, ...excepted]), key, receipt };
}

/**
 * @type {(except: unknown) => Set<WebSocket>}
 * @throws {TypeError}
 */
function exceptOf(except) {
  if (except === undefined || except === null) return NO_CONNECTION;
  if (isWebSocket(except)) return new Set([except]);
  const several = /** @type {Iterable<unknown>} */ (except);
  if (typeof except !== 'object' || typeof several[Symbol.iterator] !== 'function') {
    throw wrongType('options.except', 'a WebSocket, or a Set or an array of them', except);
  }
  const set = new Set(several);
  for (const one of set) {
    if (!isWebSocket(one)) throw wrongType('options.except', 'of WebSockets only', one);
  }
  return /** @type {Set<WebSocket>} */ (set);
}

/** @type {(value: unknown) => value is WebSocket} */
function isWebSocket(value) {
  return typeof value === 'object' && value !== null && typeof (/** @type {Partial<WebSocket>} */ (value)._ensureExtra) === 'function';
}

/** @type {(topic: AnyTopic, connections: Set<WebSocket>) => WebSocket[]} */
function membersAmong(topic, connections) {
  if (connections === NO_CONNECTION) return [];
  return [...connections].filter((ws) => ws._extra?.topics && subscriptionsOf(ws).joined.has(topic));
}

/**
 * Returns the sum of the outcomes, if a receipt is wanted and the reactors get the message.
 *
 * @type {(topic: AnyTopic, message: Message, excepted: WebSocket[], target: Target) => Promise<Counts> | null}
 */
function toReactors(topic, message, excepted, { key, receipt }) {
  if (topic.number === 0 || (topic.size === 0 && topic.ring === null)) return null;
  const used = topic.settings.slow === SLOW.latest ? key : '';
  let request = 0;
  const sum = receipt
    ? new Promise((resolve, reject) => {
        request = askReceipt(topic.isForStreams, (counts) => (counts === null ? reject(new Error('The reactor failed')) : resolve(counts)));
      })
    : null;
  if (receipt || excepted.length !== 0 || used !== '') records.target(topic, request, excepted, used);
  records.publish(topic, message);
  return sum;
}

/** @type {(sum: Promise<Counts> | null, matched: number, position: Receipt['position']) => Promise<Receipt>} */
async function receiptOf(sum, matched, position) {
  const counts = (await sum) ?? NOTHING;
  // The peers of other members have gone, and their connections do not know it yet.
  return { ...counts, matched, dropped: counts.dropped + matched - counts.matched, position };
}

module.exports = { BROADCAST, publish, publishTo, targetOf };

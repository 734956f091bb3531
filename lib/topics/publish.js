'use strict';

const { checkOptions, checkValue, wrongType } = require('../base/checks');
const { KIND_MASK, OUT_FLAG_FIN, OUT_TEXT, SLOW } = require('../base/layout');
const { BINARY, TEXT, isBlob, tagOf, toBytes } = require('../connection/arguments');
const { clientsOf } = require('../connection/clients');
const { connections } = require('../reactor/table');
const { checkTopic } = require('./arguments');
const { Overflow } = require('../nodes/outbound');
const records = require('./records');
const { topicsOf } = require('./registry');
const { DEFAULTS } = require('./settings');
const { isOpen, subscriptionsOf } = require('./subscriptions');
const { Topic } = require('./topic');

/** @import { SentCallback, Server, WebSocket } from '../connection/state' */
/** @import { BroadcastOptions, Published, PublishOptions, Receipt } from '../../types/topics' */
/** @import { AnyTopic } from './topic' */

/** A message for all subscribers. `tag`: kind | flags of a send. @typedef {{ tag: number, data: string | Uint8Array }} Message */

/** The options of `broadcast()` and of `publish()`. Both take the options of `send()`, too. */
const BROADCAST = ['binary', 'compress', 'fin', 'mask', 'except'];
const PUBLISH = [...BROADCAST, 'key', 'receipt'];

/** @typedef {{ except: Set<WebSocket>, key: string, receipt: boolean }} Target */

/** Excepts no connection. @type {Set<WebSocket>} */
const NO_CONNECTION = new Set();

/** @type {Target} */
const TO_ALL = { except: NO_CONNECTION, key: '', receipt: false };

/**
 * To all subscribers of a topic. Returns the number of connections or, with `receipt: true`, a receipt.
 *
 * @type {(server: Server, name: string, data: Published, options: PublishOptions | null | undefined, publisher: WebSocket | null) => number | Promise<Receipt>}
 */
function publish(server, name, data, options, publisher) {
  checkTopic(name);
  const target = targetOf(options, publisher);
  const message = messageOf(data, options);
  const topics = topicsOf(server);
  return send(server, name, topics.hasProtocol ? authored(message, nodeOf(topics, name)) : message, target);
}

/**
 * The author of a message without a position: a client that moves to another node can get it there once more.
 *
 * @type {(topics: import('./registry').Topics, name: string) => string}
 */
function nodeOf({ all, clusterNode }, name) {
  const epoch = all.get(name)?.epoch ?? null;
  return clusterNode === null || epoch !== null ? '' : `,"${clusterNode.id}",${clusterNode.nextNumber()}`;
}

/**
 * Text of a client of the protocol. `author` is in the header for others: JSON with a comma before it.
 *
 * @type {(server: Server, name: string, text: string, author: string) => Promise<Receipt>}
 */
async function publishFrom(server, name, text, author) {
  const message = authored({ tag: TEXT, data: text }, author);
  return /** @type {Promise<Receipt>} */ (send(server, name, message, { ...TO_ALL, receipt: true }));
}

/** @type {(server: Server, name: string, message: Message, target: Target) => number | Promise<Receipt>} */
function send(server, name, message, target) {
  const topics = topicsOf(server);
  const topic = topics.forPublish(name);
  let sent;
  try {
    sent = topics.clusterNode?.publish(name, topic?.shared ?? null, message, target);
  } catch (error) {
    if (target.receipt && error instanceof Overflow) return Promise.reject(error);
    throw error;
  }
  if (sent !== undefined && topic !== undefined) {
    // The broker gives it back, with its position.
    if (target.receipt) return Promise.resolve(sent).then((position) => ({ position }));
    return sent === null ? 0 : topic.size - membersAmong(topic, target.except).length;
  }
  const matched = topic === undefined ? 0 : publishTo(topic, message, target);
  return target.receipt ? Promise.resolve({ position: topic?.position ?? null }) : matched;
}

/**
 * A message that a broker delivers. Returns false if the topic cannot have it.
 *
 * @type {(topic: AnyTopic, message: Message, key: string, except?: Set<WebSocket>) => boolean}
 */
function receive(topic, message, key, except = NO_CONNECTION) {
  if (topic.settings.header !== null && (message.tag & KIND_MASK) !== OUT_TEXT) return false;
  publishTo(topic, message, { except, key, receipt: false });
  return true;
}

/**
 * To all open connections of a server, in the order of `send()`.
 *
 * @type {(server: Server, data: Published, options: BroadcastOptions | null | undefined) => number}
 */
function broadcast(server, data, options) {
  const { except } = targetOf(options, null, BROADCAST);
  const message = messageOf(data, options);
  return publishTo(broadcastTopicOf(server), message, { ...TO_ALL, except });
}

/** Returns the number of connections. @type {(topic: AnyTopic, given: Message, target: Target) => number} */
function publishTo(topic, given, { except, key }) {
  const message = headed(given, topic.settings, topic.epoch, topic.offset + 1);
  const excepted = membersAmong(topic, except);
  if (topic.number !== 0 && (topic.size !== 0 || topic.epoch !== null)) {
    const used = topic.settings.slow === SLOW.latest ? key : '';
    if (excepted.length !== 0 || used !== '') records.target(topic, excepted, used);
    records.publish(topic, message);
  }
  if (topic.epoch !== null) {
    topic.offset++;
    topic.publishedAt = performance.now();
  }
  return topic.size - excepted.length;
}

/**
 * Connections that do not get it, the key by which it replaces an earlier message, and whether its position is wanted.
 *
 * @type {(options: PublishOptions | null | undefined, publisher: WebSocket | null, known?: string[]) => Target}
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

/** @type {(except: unknown) => Set<WebSocket>} */
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

/** Arguments are not checked yet. @type {(data: Published, options: import('../../types/sending').SendOptions | null | undefined) => Message} */
function messageOf(data, options) {
  if (isBlob(data)) throw wrongType('data', 'read before it is published, if it is a Blob', data);
  const content = typeof data === 'number' ? data.toString() : data;
  const isText = typeof content === 'string';
  const tag = options === undefined || options === null ? (isText ? TEXT : BINARY) : tagOf(options, !isText);
  if ((tag & OUT_FLAG_FIN) === 0) throw wrongType('options.fin', 'true: a message is published whole', options?.fin);
  return { tag, data: isText ? content : toBytes(content) };
}

/**
 * With the author in a line of its own, until the header has it.
 *
 * @type {(message: Message, author: string) => Message}
 */
function authored({ data, tag }, author) {
  if ((tag & KIND_MASK) !== OUT_TEXT) throw wrongType('data', 'text on a server with topicsProtocol()', data);
  const line = `${author}\n`;
  return { tag, data: typeof data === 'string' ? line + data : Buffer.concat([Buffer.from(line), data]) };
}

/** With its header in place of the author's line. @type {(message: Message, settings: AnyTopic['settings'], epoch: string | null, offset: number) => Message} */
function headed(message, { header }, epoch, offset) {
  if (header === null) return message;
  const { data, tag } = message;
  const isText = typeof data === 'string';
  const bytes = isText ? data : Buffer.from(data.buffer, data.byteOffset, data.length);
  const start = bytes.indexOf('\n') + 1;
  const head = `[${header},${JSON.stringify(epoch)},${epoch === null ? 0 : offset}${bytes.slice(0, start).toString().trimEnd()}]\n`;
  const rest = bytes.slice(start);
  return { tag, data: isText ? head + rest : Buffer.concat([Buffer.from(head), /** @type {Buffer} */ (rest)]) };
}

/** @typedef {BroadcastTopic} Anyone */

/** All open connections of a server. */
class BroadcastTopic extends Topic {
  /** @param {import('./registry').Topics} topics */
  constructor(topics) {
    super('', DEFAULTS, null, () => void (topics.broadcastTopic = null));
    this.topics = topics;
  }

  /** It gets all broadcasts from now on. @param {WebSocket} ws */
  joinBroadcast(ws) {
    // A program can put anything into `clients`.
    if (ws?._owner?._topics !== this.topics || !isOpen(ws)) return;
    const subscriptions = subscriptionsOf(ws);
    if (!subscriptions.joined.has(this)) subscriptions.enter(this);
  }
}

/** Throws if the program has put something into `clients` that cannot be iterated. @param {Server} server */
function broadcastTopicOf(server) {
  const topics = topicsOf(server);
  if (topics.broadcastTopic === null) {
    // All connections, whatever a program has done to `clients`, and its additions to that.
    const own = /** @type {WebSocket[]} */ (connections()).filter((one) => one._owner === server);
    const all = new Set([...own, ...(clientsOf(server) ?? [])]);
    const broadcastTopic = (topics.broadcastTopic = new BroadcastTopic(topics));
    for (const ws of all) broadcastTopic.joinBroadcast(ws);
  }
  return topics.broadcastTopic;
}

module.exports = { TO_ALL, broadcast, headed, isWebSocket, publish, publishFrom, publishTo, receive };

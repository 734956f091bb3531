'use strict';

// Records about topics. For several reactors, TOPIC_SLOT stands for the connection, and the topic's number for the
// generation.

const { EMPTY_BUFFER } = require('../base/constants');
const outbox = require('../reactor/outbox');
const {
  AUX_SHIFT,
  KIND_MASK,
  OUT_FLAG_COMPRESS,
  OUT_FLAG_FIN,
  OUT_HISTORY,
  OUT_HISTORY_BUDGET,
  OUT_PUBLISH,
  OUT_RESTART,
  OUT_SUBSCRIBE,
  OUT_TARGET,
  OUT_TEXT,
  OUT_TOPIC,
  OUT_TOPIC_END,
  OUT_UNSUBSCRIBE,
  PIPE_SLOTS,
  PUBLISH_TEXT,
  SINCE_NOW,
  SINCE_OFFSET,
  SINCE_OLDEST,
  TARGET_WORDS,
  TOPIC_SLOT,
} = require('../base/layout');

/** @import { WebSocket } from '../connection/state' */
/** @import { AnyTopic } from './topic' */

/** Values of a word. */
const WORD = 2 ** 32;

const WORD_BYTES = Uint32Array.BYTES_PER_ELEMENT;

/** The last number given to a topic. */
let last = 0;
/** Reusable numbers. @type {number[]} */
const free = [];

/** By number: topics that the reactors report on. @type {Map<number, AnyTopic>} */
const reporting = new Map();

/** Announces a topic to the reactors. @param {AnyTopic} topic */
function begin(topic) {
  if (free.length === 0 && last === WORD - 1) throw new RangeError('There are no more numbers for topics');
  topic.number = free.pop() ?? ++last;
  if (topic.reports) reporting.set(topic.number, topic);
  introduce(topic);
}

/** Announces it to reactors that do not know it; others ignore this. @param {AnyTopic} topic */
function introduce(topic) {
  const { history, limit, maxBytes, slow, ttl } = topic.settings;
  outbox.pushWords(TOPIC_SLOT, topic.number, tagFor(topic, OUT_TOPIC), [slow, limit, history, ttl, maxBytes]);
}

/** For reactors that know the topic. @type {(topic: AnyTopic, tag: number) => number} */
function tagFor(topic, tag) {
  return topic.isForStreams ? tag | outbox.FOR_STREAMS : tag;
}

/**
 * The reactors forget the topic, its messages and its members. If they report on it, its number stays in use until
 * `forgetReports`.
 *
 * @param {AnyTopic} topic
 */
function end(topic) {
  outbox.pushWords(TOPIC_SLOT, topic.number, tagFor(topic, OUT_TOPIC_END), []);
  outbox.handOver();
  if (!topic.reports) free.push(topic.number);
  topic.number = 0;
}

/** No more reports will come. @param {number} number */
function forgetReports(number) {
  reporting.delete(number);
  free.push(number);
}

/** Undefined if it was forgotten. @type {(number: number) => AnyTopic | undefined} */
function reportingTopic(number) {
  return reporting.get(number);
}

/**
 * Where a replay begins: `mode` is one of SINCE_; `offset` is of the message before.
 *
 * @type {(topic: AnyTopic, since: import('../../types/topics').Position | 'oldest' | undefined) => { mode: number, offset: number }}
 */
function startOf(topic, since) {
  if (topic.epoch === null || since === undefined) return { mode: SINCE_NOW, offset: 0 };
  if (typeof since === 'string') return { mode: SINCE_OLDEST, offset: 0 };
  return topic.has(since) ? { mode: SINCE_OFFSET, offset: since.offset } : { mode: SINCE_NOW, offset: 0 };
}

/**
 * `request` 0: no answer; `mode` and `since` as from `startOf`.
 *
 * @type {(ws: WebSocket, topic: AnyTopic, request: number, mode: number, since: number) => void}
 */
function subscribe(ws, topic, request, mode, since) {
  if (ws._slot >= PIPE_SLOTS && !topic.isForStreams) {
    topic.isForStreams = true;
    introduce(topic);
  }
  const words = [topic.number, request, mode, since % WORD, Math.floor(since / WORD)];
  outbox.pushWords(ws._slot, ws._generation, OUT_SUBSCRIBE, words);
  outbox.handOver();
}

/** `number` 0: all topics, for good. @type {(ws: WebSocket, number: number) => void} */
function unsubscribe(ws, number) {
  outbox.pushWords(ws._slot, ws._generation, OUT_UNSUBSCRIBE, [number]);
  outbox.handOver();
}

/**
 * How the next publish differs from a plain message for all. A message with a `key` replaces the earlier one. `age`: milliseconds for
 * which the process before has kept it.
 *
 * @type {(topic: AnyTopic, excepted: WebSocket[], key: string, age?: number) => void}
 */
function target(topic, excepted, key, age = 0) {
  // In UTF-8, all lone surrogates would be the same key.
  const name = key === '' ? EMPTY_BUFFER : Buffer.from(key, 'utf16le');
  const words = new Uint32Array(TARGET_WORDS + 2 * excepted.length);
  words.set([excepted.length, name.length, age]);
  for (const [index, { _generation, _slot }] of excepted.entries()) {
    words.set([_slot, _generation], TARGET_WORDS + 2 * index);
  }
  const bytes = Buffer.from(words.buffer);
  outbox.push(TOPIC_SLOT, topic.number, tagFor(topic, OUT_TARGET), name.length === 0 ? bytes : Buffer.concat([bytes, name]));
}

/** Each reactor answers after its earlier reports. @type {(number: number, request: number) => void} */
function awaitEnd(number, request) {
  outbox.pushWords(TOPIC_SLOT, number, OUT_TOPIC_END | outbox.FOR_STREAMS, [request]);
  outbox.handOver();
}

/** @type {(topic: AnyTopic, message: import('./publish').Message) => void} */
function publish(topic, { data, tag }) {
  const isText = (tag & KIND_MASK) === OUT_TEXT ? PUBLISH_TEXT : 0;
  const kind = OUT_PUBLISH | OUT_FLAG_FIN | (tag & OUT_FLAG_COMPRESS) | (isText << AUX_SHIFT);
  if (outbox.push(TOPIC_SLOT, topic.number, tagFor(topic, kind), data) < outbox.SAME_BYTES) outbox.handOver();
}

/** The topic goes on after its offset. `isSame`: as before, with messages missing; otherwise in another history, or without one. @type {(topic: AnyTopic, isSame: boolean) => void} */
function restart(topic, isSame) {
  if (topic.number === 0) return;
  const { offset } = topic;
  outbox.pushWords(TOPIC_SLOT, topic.number, tagFor(topic, OUT_RESTART), [offset % WORD, Math.floor(offset / WORD), Number(isSame)]);
  outbox.handOver();
}

/** Past messages; `since` as in `subscribe`. @type {(topic: AnyTopic, request: number, mode: number, since: number, limit: number) => void} */
function history(topic, request, mode, since, limit) {
  const words = [request, mode, since % WORD, Math.floor(since / WORD), limit];
  outbox.pushWords(TOPIC_SLOT, topic.number, OUT_HISTORY, words);
  outbox.handOver();
}

/** The budget of all topics in all reactors. @param {number} bytes */
function historyBudget(bytes) {
  outbox.pushWords(TOPIC_SLOT, 0, OUT_HISTORY_BUDGET | outbox.FOR_STREAMS, [bytes % WORD, Math.floor(bytes / WORD)]);
}

/** @type {(bytes: Buffer, index: number) => number} */
function wordOf(bytes, index) {
  return bytes.readUInt32LE(WORD_BYTES * index);
}

/** @type {typeof wordOf} */
function longOf(bytes, index) {
  return wordOf(bytes, index) + WORD * wordOf(bytes, index + 1);
}

module.exports = {
  WORD,
  WORD_BYTES,
  awaitEnd,
  begin,
  end,
  forgetReports,
  history,
  historyBudget,
  longOf,
  publish,
  reportingTopic,
  restart,
  startOf,
  subscribe,
  target,
  unsubscribe,
  wordOf,
};
